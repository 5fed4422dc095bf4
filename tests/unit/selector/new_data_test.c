/* new_data: everything, or the newest by event time, ties to the larger id. */
#include "tests/unit/selector/choose.h"

static const int64_t TIMES[] = {50, 10, 40, 40, 20, 60};
enum { COUNT = 6 };

static size_t choose_newest(size_t target, size_t *chosen)
{
    const struct given input = {
        .times = TIMES, .count = COUNT, .target = target, .bounded = target < COUNT};
    struct picked output = {.chosen = chosen};
    choose("new_data", "{}", &input, 1, &output);
    return output.count;
}

static void without_a_bound_everything_is_chosen(void **state)
{
    (void)state;
    size_t chosen[COUNT];
    assert_int_equal(choose_newest(COUNT, chosen), COUNT);
    for (size_t i = 0; i < COUNT; i++)
        assert_int_equal(chosen[i], i);
}

static void a_bound_keeps_the_newest(void **state)
{
    (void)state;
    static const struct {
        size_t target;
        size_t chosen[COUNT];
    } ROWS[] = {
        {1, {5}},          {2, {0, 5}},          {3, {0, 3, 5}}, /* 40 twice: the larger id */
        {4, {0, 2, 3, 5}}, {5, {0, 2, 3, 4, 5}},
    };
    for (size_t row = 0; row < WEIR_COUNT(ROWS); row++) {
        size_t chosen[COUNT];
        assert_int_equal(choose_newest(ROWS[row].target, chosen), ROWS[row].target);
        for (size_t i = 0; i < ROWS[row].target; i++)
            assert_int_equal(chosen[i], ROWS[row].chosen[i]);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(without_a_bound_everything_is_chosen),
        cmocka_unit_test(a_bound_keeps_the_newest),
    };
    return cmocka_run_group_tests_name("selector/policies/new_data", tests, NULL, NULL);
}
