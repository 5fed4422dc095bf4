/* Integers and the order of numbers. */
#include "core/base/bytes.h"
#include "core/base/number.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

static void numbers_sort_in_ascending_order(void **state)
{
    uint64_t ids[] = {UINT64_MAX, 7, 0, 7, 1};
    double values[] = {0.5, -INFINITY, 2, -0.5};
    (void)state;
    qsort(ids, WEIR_COUNT(ids), sizeof(*ids), weir_order_u64);
    qsort(values, WEIR_COUNT(values), sizeof(*values), weir_order_doubles);
    assert_true(ids[0] == 0 && ids[1] == 1 && ids[2] == 7 && ids[3] == 7 && ids[4] == UINT64_MAX);
    assert_true(values[0] < values[1] && values[1] < values[2] && values[2] < values[3]);
}

static void a_sum_ends_where_64_bits_do(void **state)
{
    (void)state;
    assert_int_equal(weir_plus(3, -5), -2);
    assert_int_equal(weir_plus(INT64_MAX, 1), INT64_MAX);
    assert_int_equal(weir_plus(-1, INT64_MIN), INT64_MIN);
    assert_int_equal(weir_plus(INT64_MIN, INT64_MAX), -1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_sum_ends_where_64_bits_do),
        cmocka_unit_test(numbers_sort_in_ascending_order),
    };
    return cmocka_run_group_tests_name("base/number", tests, NULL, NULL);
}
