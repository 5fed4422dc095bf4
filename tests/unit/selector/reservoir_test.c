/* The reservoir is uniform, of its size, and changes only by what is new; the least of
 * many against a sort. */
#include "selector/policies/least.h"
#include "tests/unit/selector/choose.h"

enum { SAMPLES = 1000, SIZE = 100 };

static void fill(size_t count, uint64_t seed, bool *held)
{
    static uint64_t ids[SAMPLES];
    size_t chosen[SAMPLES];
    for (size_t i = 0; i < SAMPLES; i++)
        ids[i] = i + 1;
    const struct given input = {.ids = ids, .count = count, .target = count, .pipeline_seed = seed};
    struct picked output = {.chosen = chosen};
    choose("reservoir", "{size: 100}", &input, 1, &output);
    assert_int_equal(output.count, count < SIZE ? count : SIZE);
    memset(held, 0, SAMPLES);
    for (size_t i = 0; i < output.count; i++)
        held[chosen[i]] = true;
}

static void what_was_pushed_out_does_not_come_back(void **state)
{
    (void)state;
    bool before[SAMPLES], after[SAMPLES];
    fill(50, 9, before);
    for (size_t count = 60; count <= SAMPLES; count += 10) {
        fill(count, 9, after);
        for (size_t i = 0; count > 100 && i < count - 10; i++)
            assert_true(before[i] || !after[i]);
        memcpy(before, after, sizeof(before));
    }
}

static void every_sample_is_held_as_often(void **state)
{
    (void)state;
    enum { RUNS = 5000 };
    double counts[SAMPLES] = {0}, chi_square = 0;
    const double expected = (double)RUNS * SIZE / SAMPLES;
    for (uint64_t seed = 0; seed < RUNS; seed++) {
        bool held[SAMPLES];
        fill(SAMPLES, weir_mix64(seed), held);
        for (size_t i = 0; i < SAMPLES; i++)
            counts[i] += held[i];
    }
    for (size_t i = 0; i < SAMPLES; i++)
        chi_square += (counts[i] - expected) * (counts[i] - expected) / expected;
    /* Without replacement the counts vary less by (1 - SIZE / SAMPLES); 999 degrees, 0.999. */
    assert_true(chi_square / (1 - (double)SIZE / SAMPLES) < 1143);
}

static int ascending(const void *a, const void *b)
{
    const uint64_t *x = a;
    const uint64_t *y = b;
    return (*x > *y) - (*x < *y);
}

static void the_least_are_those_of_a_sort(void **state)
{
    (void)state;
    struct weir_rng rng;
    weir_rng_init(&rng, 11);
    for (int round = 0; round < 40; round++) {
        uint64_t keys[SAMPLES], sorted[SAMPLES], taken[SAMPLES / 64 + 1] = {0};
        size_t count = 1 + weir_rng_below(&rng, SAMPLES);
        uint64_t bound = round % 2 ? 20 : UINT64_MAX;
        size_t wanted = 1 + weir_rng_below(&rng, count);
        struct selection_least least;
        struct selection_output output = {.taken = taken};
        selector_least_init(&least, wanted, count);
        for (size_t i = 0; i < count; i++) {
            sorted[i] = keys[i] = weir_rng_below(&rng, bound);
            selection_least_offer(&least, keys[i], i);
        }
        qsort(sorted, count, sizeof(*sorted), ascending);
        selector_least_take(&least, &output);
        selector_least_fini(&least);
        assert_int_equal(output.count, wanted);
        bool skipped = false; /* of those that tie for the last place, the later ones */
        for (size_t i = count; i-- > 0;) {
            bool is_taken = selection_is_taken(&output, i);
            bool ties = keys[i] == sorted[wanted - 1];
            assert_true(ties || is_taken == (keys[i] < sorted[wanted - 1]));
            assert_false(ties && is_taken && skipped);
            skipped = skipped || (ties && !is_taken);
        }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_was_pushed_out_does_not_come_back),
        cmocka_unit_test(every_sample_is_held_as_often),
        cmocka_unit_test(the_least_are_those_of_a_sort),
    };
    return cmocka_run_group_tests_name("selector/reservoir", tests, NULL, NULL);
}
