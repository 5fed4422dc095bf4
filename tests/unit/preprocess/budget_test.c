/* Memory divided among trainers. */
#include "preprocess/dispatcher/budget.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

static void one_alone_may_have_all(void **state)
{
    (void)state;
    assert_int_equal(preprocess_budget_part(1000, NULL, 0), 1000);
}

static void it_may_have_what_those_that_need_little_leave(void **state)
{
    const uint64_t needs[] = {10, 0, 90};
    (void)state;
    assert_int_equal(preprocess_budget_part(1000, needs, 3), 900);
}

static void those_that_need_more_than_there_is_have_equal_parts(void **state)
{
    const uint64_t needs[] = {10, 5000, UINT64_MAX, 90};
    (void)state;
    assert_int_equal(preprocess_budget_part(1000, needs, 4), 300);
}

static void parts_together_never_exceed_the_memory(void **state)
{
    const uint64_t NEEDS[] = {0, 1, 7, 100, 333, 334, 1000, 999999, UINT64_MAX};
    enum { COUNT = sizeof(NEEDS) / sizeof(NEEDS[0]) };
    (void)state;
    for (uint64_t budget = 0; budget < 3000; budget++) {
        uint64_t sum = 0;
        for (size_t i = 0; i < COUNT; i++) {
            uint64_t others[COUNT];
            for (size_t k = 0; k < COUNT - 1; k++)
                others[k] = NEEDS[k < i ? k : k + 1];
            uint64_t part = preprocess_budget_part(budget, others, COUNT - 1);
            sum += part < NEEDS[i] ? part : NEEDS[i];
        }
        assert_true(sum <= budget);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(one_alone_may_have_all),
        cmocka_unit_test(it_may_have_what_those_that_need_little_leave),
        cmocka_unit_test(those_that_need_more_than_there_is_have_equal_parts),
        cmocka_unit_test(parts_together_never_exceed_the_memory),
    };
    return cmocka_run_group_tests_name("budget", tests, NULL, NULL);
}
