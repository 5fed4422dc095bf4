/* Elementary functions against those of the C library for long doubles: errors in units in the last place, and
 * special values. */
#include "core/base/attributes.h"
#include "core/base/elementary.h"
#include "core/base/rng.h"

#include <float.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include <cmocka.h>

enum { POINTS = 100000 };

typedef double own_fn(double x);
typedef long double true_fn(long double x);

static const long double PI = 3.14159265358979323846264338327950288L;

/* |got - want| in units in the last place of a double near `want`. */
static double error_of(double got, long double want)
{
    int exponent;
    frexpl(want, &exponent);
    exponent = exponent < DBL_MIN_EXP ? DBL_MIN_EXP : exponent;
    if (isinf(got) || fabsl(want) > DBL_MAX)
        return got == (double)want ? 0 : INFINITY;
    return (double)(fabsl((long double)got - want) / ldexpl(1, exponent - DBL_MANT_DIG));
}

/* Its argument is reduced before the library's multiplies it. */
static long double cospi_true(long double x)
{
    long double r = fabsl(remainderl(x, 2)); /* 0 to 1, exact */
    if (r > 0.75L)
        return -cosl(PI * (1 - r));
    return r < 0.25L ? cosl(PI * r) : sinl(PI * (0.5L - r));
}

static const struct {
    const char *name;
    own_fn *own;
    true_fn *truth;
    double from, to, ulp;
} CASES[] = {
    {"exp", weir_exp, expl, -0.4, 0.4, 1},
    {"exp", weir_exp, expl, -746, 710, 1},
    {"exp", weir_exp, expl, -746, -707, 1}, /* to subnormal numbers and 0 */
    {"exp2", weir_exp2, exp2l, -1, 1, 1},
    {"exp2", weir_exp2, exp2l, -1080, 1025, 1},
    {"expm1", weir_expm1, expm1l, -1e-3, 1e-3, 1.5},
    {"expm1", weir_expm1, expm1l, -2, 2, 1.5},
    {"expm1", weir_expm1, expm1l, -50, 710, 1.5},
    {"ln", weir_ln, logl, 0.999, 1.001, 1},
    {"ln", weir_ln, logl, 0, 3, 1},
    {"ln", weir_ln, logl, 0, DBL_MAX, 1},
    {"ln", weir_ln, logl, 0, DBL_MIN, 1},
    {"ln1p", weir_ln1p, log1pl, -1e-3, 1e-3, 1},
    {"ln1p", weir_ln1p, log1pl, -1, 1, 1},
    {"ln1p", weir_ln1p, log1pl, 0, 1e6, 1},
    {"cospi", weir_cospi, cospi_true, -1, 1, 2},
    {"cospi", weir_cospi, cospi_true, -1e5, 1e5, 2},
};

static void expect_close(const char *name, double x, double got, long double want, double ulp)
{
    double error = error_of(got, want);
    if (!(error <= ulp))
        fail_msg("%s(%a) = %a: %.3f ulp from %La, expected at most %g", name, x, got, error, want,
                 ulp);
}

static void errors_are_those_of_the_header(void **state)
{
    struct weir_rng rng;
    (void)state;
    weir_rng_init(&rng, 11);
    for (size_t c = 0; c < WEIR_COUNT(CASES); c++) {
        double width = CASES[c].to - CASES[c].from;
        for (int i = 0; i <= 2 * POINTS; i++) { /* a grid, and points between */
            double part = i <= POINTS ? (double)i / POINTS : weir_rng_unit(&rng);
            double x = CASES[c].from + width * part;
            expect_close(CASES[c].name, x, CASES[c].own(x), CASES[c].truth((long double)x),
                         CASES[c].ulp);
        }
    }
}

static void any_exponent_is_as_good(void **state)
{
    struct weir_rng rng;
    (void)state;
    weir_rng_init(&rng, 5);
    for (int i = 0; i < POINTS; i++) {
        double x = ldexp(1 + weir_rng_unit(&rng), (int)weir_rng_below(&rng, 2098) - 1074);
        double small = ldexp(1 + weir_rng_unit(&rng), -(int)weir_rng_below(&rng, 80));
        expect_close("ln", x, weir_ln(x), logl((long double)x), 1);
        expect_close("ln1p", x, weir_ln1p(x), log1pl((long double)x), 1);
        expect_close("exp", small, weir_exp(small), expl((long double)small), 1);
        expect_close("expm1", -small, weir_expm1(-small), expm1l(-(long double)small), 1.5);
    }
}

static void powers_are_as_close_as_their_size_allows(void **state)
{
    struct weir_rng rng;
    (void)state;
    weir_rng_init(&rng, 7);
    for (int i = 0; i < POINTS; i++) {
        double x = ldexp(1 + weir_rng_unit(&rng), (int)weir_rng_below(&rng, 64) - 32);
        double near = 1 + ldexp(weir_rng_unit(&rng) - 0.5, -(int)weir_rng_below(&rng, 20));
        double y = 64 * (weir_rng_unit(&rng) - 0.5), steps = (double)weir_rng_below(&rng, 1000000);
        expect_close("pow", x, weir_pow(x, y), powl((long double)x, (long double)y),
                     1 + fabs(y * log(x)) / 20);
        expect_close("pow", near, weir_pow(near, steps),
                     powl((long double)near, (long double)steps), 1 + fabs(steps * log(near)) / 20);
    }
    assert_true(weir_pow(2, 10) == 1024 && weir_pow(10, 2) == 100 && weir_pow(0.25, 0.5) == 0.5);
}

static void whole_places_are_exact(void **state)
{
    (void)state;
    assert_true(weir_exp(0) == 1 && weir_expm1(0) == 0 && weir_ln(1) == 0 && weir_ln1p(0) == 0);
    for (int k = -1074; k <= 1023; k++)
        assert_true(weir_exp2(k) == ldexp(1, k));
    for (int k = -8; k <= 8; k++) {
        assert_true(weir_cospi(k) == (k % 2 == 0 ? 1 : -1));
        assert_true(weir_cospi(k + 0.5) == 0);
    }
    assert_true(weir_cospi(0x1p60) == 1);
}

static void what_is_no_number_or_beyond_all_is_answered(void **state)
{
    own_fn *const all[] = {weir_exp, weir_exp2, weir_expm1, weir_ln, weir_ln1p, weir_cospi};
    (void)state;
    for (size_t i = 0; i < WEIR_COUNT(all); i++)
        assert_true(isnan(all[i](NAN)));
    assert_true(weir_exp(INFINITY) == INFINITY && weir_exp(-INFINITY) == 0);
    assert_true(weir_exp2(INFINITY) == INFINITY && weir_exp2(-INFINITY) == 0);
    assert_true(weir_expm1(INFINITY) == INFINITY && weir_expm1(-INFINITY) == -1);
    assert_true(weir_ln(INFINITY) == INFINITY && weir_ln(0) == -INFINITY &&
                weir_ln(-1) == -INFINITY);
    assert_true(weir_ln1p(INFINITY) == INFINITY && weir_ln1p(-1) == -INFINITY);
    assert_true(weir_ln1p(-INFINITY) == -INFINITY && isnan(weir_cospi(INFINITY)));
    assert_true(signbit(weir_expm1(-0.0)) && signbit(weir_ln1p(-0.0)));
    assert_true(weir_expm1(DBL_TRUE_MIN) == DBL_TRUE_MIN &&
                weir_ln1p(DBL_TRUE_MIN) == DBL_TRUE_MIN);
}

static void special_powers_are_those_of_c(void **state)
{
    const double numbers[] = {0, 0.5, 1, 2, 1e300, DBL_TRUE_MIN, INFINITY, NAN};
    (void)state;
    for (size_t i = 0; i < WEIR_COUNT(numbers); i++) {
        for (size_t j = 0; j < 2 * WEIR_COUNT(numbers); j++) {
            double x = numbers[i], y = (j % 2 == 0 ? 1 : -1) * numbers[j / 2];
            double got = weir_pow(x, y), want = pow(x, y);
            if (!(isnan(want) ? isnan(got) : error_of(got, (long double)want) <= 40))
                fail_msg("pow(%g, %g) = %g, expected %g", x, y, got, want);
        }
    }
    assert_true(isnan(weir_pow(-1, 2)));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(errors_are_those_of_the_header),
        cmocka_unit_test(any_exponent_is_as_good),
        cmocka_unit_test(powers_are_as_close_as_their_size_allows),
        cmocka_unit_test(whole_places_are_exact),
        cmocka_unit_test(what_is_no_number_or_beyond_all_is_answered),
        cmocka_unit_test(special_powers_are_those_of_c),
    };
    return cmocka_run_group_tests_name("base/elementary", tests, NULL, NULL);
}
