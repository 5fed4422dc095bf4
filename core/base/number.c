/* Series; see Abramowitz & Stegun, 4.1.27 (logarithm) and 4.2.1 (exponential). */
#include "core/base/number.h"

#include <float.h>
#include <math.h>
#include <stdint.h>

static const double LN2 = 0.69314718055994530942;

/* ln x = k ln 2 + 2 (s + s^3 / 3 + s^5 / 5 + ...), s = (m - 1) / (m + 1), x = m 2^k. */
double weir_ln(double x)
{
    int exponent = 0;
    if (x <= 0)
        return -INFINITY;
    if (!(x < INFINITY))
        return x;
    double m = frexp(x, &exponent); /* exact */
    if (m < 0.70710678118654752440) {
        m *= 2;
        exponent--;
    }
    double s = (m - 1) / (m + 1);
    double square = s * s;
    double sum = 0;
    for (int n = 23; n >= 1; n -= 2)
        sum = sum * square + 1.0 / n;
    return exponent * LN2 + 2 * s * sum;
}

/* Of |x| < 1: x + x^2 / 2! + x^3 / 3! + ... */
static double exp_minus_one(double x)
{
    double sum = 0;
    for (int n = 20; n >= 1; n--)
        sum = (sum + 1) * x / n;
    return sum;
}

double weir_exp2(double x)
{
    if (x < -1000)
        return 0;
    if (x > 1000)
        return DBL_MAX;
    double whole = floor(x); /* exact */
    return ldexp(1 + exp_minus_one((x - whole) * LN2), (int)whole);
}

double weir_one_minus_exp(double x)
{
    return x < 0.5 ? -exp_minus_one(-x) : 1 - weir_exp2(-x / LN2);
}

int64_t weir_divide_down(int64_t value, int64_t by)
{
    return value / by - (value % by < 0);
}

int weir_order_u64(const void *left, const void *right)
{
    uint64_t a = *(const uint64_t *)left, b = *(const uint64_t *)right;
    return (a > b) - (a < b);
}

int weir_order_doubles(const void *left, const void *right)
{
    double a = *(const double *)left, b = *(const double *)right;
    return (a > b) - (a < b);
}
