/* The logarithm and the exponential against those of the C library, and the order of numbers. */
#include "core/base/bytes.h"
#include "core/base/number.h"
#include "core/base/rng.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

static void the_logarithm_agrees_with_the_library(void **state)
{
    struct weir_rng rng;
    (void)state;
    weir_rng_init(&rng, 11);
    assert_true(weir_ln(1) == 0);
    assert_true(isinf(weir_ln(0)) && isinf(weir_ln(-1)));
    assert_true(weir_ln(INFINITY) == INFINITY && isnan(weir_ln(NAN)));
    for (int i = 0; i < 100000; i++) {
        double x = ldexp(1 + weir_rng_unit(&rng), (int)weir_rng_below(&rng, 2000) - 1000);
        assert_true(fabs(weir_ln(x) - log(x)) <= 2e-15 * (1 + fabs(log(x))));
    }
}

static void the_exponentials_agree_with_the_library(void **state)
{
    struct weir_rng rng;
    (void)state;
    weir_rng_init(&rng, 5);
    assert_true(weir_exp2(0) == 1 && weir_exp2(10) == 1024);
    for (int i = 0; i < 100000; i++) {
        double x = weir_rng_unit(&rng) * 100 + 1e-300;
        double small = ldexp(x, -20);
        assert_true(fabs(weir_exp2(x - 50) / exp2(x - 50) - 1) < 1e-14);
        assert_true(fabs(weir_one_minus_exp(small) / -expm1(-small) - 1) < 1e-14);
        assert_true(fabs(weir_one_minus_exp(x) + expm1(-x)) < 1e-14);
    }
}

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

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_logarithm_agrees_with_the_library),
        cmocka_unit_test(the_exponentials_agree_with_the_library),
        cmocka_unit_test(numbers_sort_in_ascending_order),
    };
    return cmocka_run_group_tests_name("base/number", tests, NULL, NULL);
}
