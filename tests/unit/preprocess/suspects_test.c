/* Finding guilty rows: any rows that fail a batch are found, and no other row is left out. */
#include "preprocess/operators/exec/suspects.h"

#include "core/base/rng.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

enum { ROWS_MAX = 300 };

/* Rows of a batch, and what is left of them. */
struct world {
    bool is_bad[ROWS_MAX];
    size_t row[ROWS_MAX]; /* those asked for */
    size_t count;
    bool hangs; /* at bad rows; else it dies of them */
};

static bool fails(const struct world *world, struct suspects_range asked)
{
    for (size_t i = asked.first; i < asked.end; i++) {
        if (world->is_bad[world->row[i]])
            return true;
    }
    return false;
}

/* Asks until all that is left passes; returns how often it failed. */
static size_t settle(struct world *world, size_t rows)
{
    struct suspects suspects = {0};
    enum suspects_verdict verdict = SUSPECTS_GO_ON;
    for (world->count = 0; world->count < rows; world->count++)
        world->row[world->count] = world->count;
    while (world->count > 0 && verdict != SUSPECTS_DONE) {
        struct suspects_range asked = preprocess_suspects_next(&suspects, world->count);
        assert_true(asked.first < asked.end && asked.end <= world->count);
        verdict = fails(world, asked)
                      ? preprocess_suspects_failed(&suspects, world->count, world->hangs)
                      : preprocess_suspects_passed(&suspects, world->count);
        assert_int_not_equal(verdict, SUSPECTS_HOPELESS);
        if (verdict != SUSPECTS_GUILTY)
            continue;
        assert_true(world->is_bad[world->row[asked.first]]);
        memmove(&world->row[asked.first], &world->row[asked.first + 1],
                (--world->count - asked.first) * sizeof(world->row[0]));
        preprocess_suspects_begin_again(&suspects);
    }
    return suspects.failures;
}

static void the_guilty_are_found_and_nobody_else(void **state)
{
    (void)state;
    for (uint64_t seed = 0; seed < 500; seed++) {
        struct world world = {0};
        struct weir_rng rng;
        size_t bad = 0;
        weir_rng_init(&rng, seed);
        size_t rows = 1 + weir_rng_below(&rng, ROWS_MAX);
        for (size_t left = weir_rng_below(&rng, 8); left > 0; left--)
            world.is_bad[weir_rng_below(&rng, rows)] = true;
        for (size_t i = 0; i < rows; i++)
            bad += world.is_bad[i];
        size_t failures = settle(&world, rows);
        assert_int_equal(world.count, rows - bad);
        assert_in_range(failures, bad, bad * 11); /* 1 + log2 of 300, and once alone */
    }
}

static void who_fails_only_in_company_is_not_blamed(void **state)
{
    (void)state;
    struct suspects suspects = {0};
    enum suspects_verdict verdict = SUSPECTS_GO_ON;
    while (verdict == SUSPECTS_GO_ON) {
        struct suspects_range asked = preprocess_suspects_next(&suspects, 16);
        verdict = asked.end - asked.first > 1 ? preprocess_suspects_failed(&suspects, 16, false)
                                              : preprocess_suspects_passed(&suspects, 16);
    }
    assert_int_equal(verdict, SUSPECTS_HOPELESS);
    assert_int_equal(suspects.failures, SUSPECTS_FAILURES_MAX + 1);
}

/* Wherever the row is, in a batch of any size; in small ones nearly all rows are under suspicion soon. */
static void one_row_that_hangs_is_found(void **state)
{
    (void)state;
    for (size_t rows = 1; rows <= ROWS_MAX; rows++) {
        struct world world = {.hangs = true};
        world.is_bad[rows * 7 / 11] = true;
        size_t failures = settle(&world, rows);
        assert_int_equal(world.count, rows - 1);
        assert_in_range(failures, 1, 11);
    }
}

static void a_program_that_always_hangs_is_given_up_soon(void **state)
{
    (void)state;
    for (size_t rows = 2; rows <= ROWS_MAX; rows++) {
        struct suspects suspects = {0};
        size_t count = rows;
        enum suspects_verdict verdict = SUSPECTS_GO_ON;
        while (verdict != SUSPECTS_HOPELESS && count > 0) {
            verdict = preprocess_suspects_failed(&suspects, count, true);
            if (verdict != SUSPECTS_GUILTY)
                continue;
            preprocess_suspects_begin_again(&suspects);
            count--;
        }
        assert_in_range(suspects.failures, 1, SUSPECTS_HANGS + SUSPECTS_PROBES + 3);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_guilty_are_found_and_nobody_else),
        cmocka_unit_test(who_fails_only_in_company_is_not_blamed),
        cmocka_unit_test(one_row_that_hangs_is_found),
        cmocka_unit_test(a_program_that_always_hangs_is_given_up_soon),
    };
    return cmocka_run_group_tests_name("suspects", tests, NULL, NULL);
}
