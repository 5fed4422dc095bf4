/* The logarithm and the exponential against those of the C library. */
#include "core/base/number.h"
#include "core/base/rng.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

static void the_logarithm_agrees_with_the_library(void **state)
{
    struct weir_rng rng;
    (void)state;
    weir_rng_init(&rng, 11);
    assert_true(weir_ln(1) == 0);
    assert_true(isinf(weir_ln(0)) && isinf(weir_ln(-1)));
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

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_logarithm_agrees_with_the_library),
        cmocka_unit_test(the_exponentials_agree_with_the_library),
    };
    return cmocka_run_group_tests_name("base/number", tests, NULL, NULL);
}
