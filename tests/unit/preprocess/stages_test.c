/* The stage that a trainer waits for. */
#include "preprocess/dispatcher/stages.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

static const int64_t MS = 1000000;

static void expect(struct stages_spent spent, const char *stage, uint32_t permille)
{
    struct stages stages = {0};
    preprocess_stages_look(&stages, &(struct stages_spent){0}, 5000);
    assert_string_equal(preprocess_stages_name(&stages), "");
    preprocess_stages_look(&stages, &spent, 5000 + STAGES_LOOK_MS - 1); /* too soon */
    assert_string_equal(preprocess_stages_name(&stages), "");
    preprocess_stages_look(&stages, &spent, 5000 + STAGES_LOOK_MS);
    assert_string_equal(preprocess_stages_name(&stages), stage);
    assert_int_equal(stages.stall_permille, permille);
    assert_true(preprocess_stages_are_known(&stages, 5000 + STAGES_LOOK_MS + STAGES_FORGET_MS - 1));
    assert_false(preprocess_stages_are_known(&stages, 5000 + STAGES_LOOK_MS + STAGES_FORGET_MS));
}

static void the_stage_that_takes_longest_is_named(void **state)
{
    (void)state;
    expect((struct stages_spent){20 * MS, 900 * MS, 10 * MS, 0}, "trainer", 20);
    expect((struct stages_spent){500 * MS, 900 * MS, 800 * MS, 0}, "read", 500);
    expect((struct stages_spent){500 * MS, 100 * MS, 800 * MS, 0}, "operators", 500);
    expect((struct stages_spent){500 * MS, 100 * MS, 100 * MS, 3000 * MS}, "transfer", 500);
    expect((struct stages_spent){9000 * MS, 1 * MS, 900 * MS, 0}, "operators", 1000);
    expect((struct stages_spent){9000 * MS, 1 * MS, 2 * MS, 0}, "locate", 1000);
    expect((struct stages_spent){9000 * MS, 1 * MS, 2 * MS, 2000 * MS}, "transfer", 1000);
}

static void numbers_that_begin_anew_are_no_look(void **state)
{
    (void)state;
    struct stages stages = {0};
    struct stages_spent late = {700 * MS, 1, 2, 0}, restarted = {1 * MS, 1, 2, 0};
    struct stages_spent then = {201 * MS, 1, 2, 0};
    preprocess_stages_look(&stages, &late, 1000);
    preprocess_stages_look(&stages, &restarted, 5000);
    assert_string_equal(preprocess_stages_name(&stages), "");
    assert_false(preprocess_stages_are_known(&stages, 5000));
    preprocess_stages_look(&stages, &then, 6000);
    assert_int_equal(stages.stall_permille, 200);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_stage_that_takes_longest_is_named),
        cmocka_unit_test(numbers_that_begin_anew_are_no_look),
    };
    return cmocka_run_group_tests_name("stages", tests, NULL, NULL);
}
