/* Elementary functions from arithmetic alone. */
#include "core/base/elementary.h"

#include <float.h>
#include <math.h>
#include <stdint.h>
#include <string.h>

static const double PI = 3.14159265358979323846;
static const double PER_LN2 = 1.44269504088896340736;
static const double LN2 = 0.69314718055994530942;
static const double LN2_REST = 0x1.abc9e3b39803fp-56; /* ln 2 - LN2 */
static const double LN2_HIGH = 0x1.62e42fefa38p-1;  /* 42 bits: products with exponents are exact */
static const double LN2_LOW = 0x1.ef35793c7673p-45; /* ln 2 - LN2_HIGH */
static const double EXP_MIN = -746, EXP_MAX = 710;  /* beyond them e^x is 0 and INFINITY */

/* A number in two parts, the second below the last place of the first. */
struct pair {
    double high, low;
};

static double from_bits(uint64_t bits)
{
    double x;
    memcpy(&x, &bits, sizeof(x));
    return x;
}

/* The nearest integer to |x| < 2^51: the sum has no room for a fraction. */
static double nearest(double x)
{
    return x + 0x1.8p52 - 0x1.8p52;
}

static double bounded(double x, double least, double most)
{
    return x < least ? least : x > most ? most : x;
}

/* x 2^exponent for -1080 <= exponent <= 1025, rounded once: by halves, as neither must leave the range. */
static double scaled(double x, int exponent)
{
    int half = exponent / 2;
    return x * from_bits((uint64_t)(1023 + half) << 52) *
           from_bits((uint64_t)(1023 + exponent - half) << 52);
}

/* a + b exactly (Knuth, The Art of Computer Programming 2, 4.2.2). */
static struct pair sum_of(double a, double b)
{
    double sum = a + b, part = sum - a;
    return (struct pair){sum, (a - (sum - part)) + (b - part)};
}

/* a b exactly, by halves of 26 bits (Dekker 1971, Veltkamp's division), for |a|, |b| < 2^990. */
static struct pair product_of(double a, double b)
{
    double product = a * b;
    double a_cut = a * 0x1p27 + a, b_cut = b * 0x1p27 + b;
    double a_high = a_cut - (a_cut - a), b_high = b_cut - (b_cut - b);
    double a_low = a - a_high, b_low = b - b_high;
    double rest = a_high * b_high - product + a_high * b_low + a_low * b_high + a_low * b_low;
    return (struct pair){product, rest};
}

/* c[0] + c[1] z + … + c[5] z^5, in pairs that do not wait for each other (Estrin 1960). */
static double polynomial(const double c[6], double z)
{
    double w = z * z;
    return c[0] + c[1] * z + w * (c[2] + c[3] * z + w * (c[4] + c[5] * z));
}

/* ---- exponentials ---- */

/* e^r - 1 - r for |r| <= ln 2 / 2: r^2 / 2! + r^3 / 3! + ... */
static double exp_rest(double r)
{
    static const double EVEN[] = {1.0 / 2,     1.0 / 24,      1.0 / 720,
                                  1.0 / 40320, 1.0 / 3628800, 1.0 / 479001600};
    static const double ODD[] = {1.0 / 6,      1.0 / 120,      1.0 / 5040,
                                 1.0 / 362880, 1.0 / 39916800, 1.0 / 6227020800};
    double z = r * r;
    return z * polynomial(EVEN, z) + z * r * polynomial(ODD, z);
}

/* 2^k e^(high + low). */
static double exp_at(double k, double high, double low)
{
    return scaled(1 + (high + (exp_rest(high + low) + low)), (int)k);
}

/* e^(x + low), |low| far below |x|, EXP_MIN <= x <= EXP_MAX. */
static double exp_of(double x, double low)
{
    double k = nearest(x * PER_LN2);
    return exp_at(k, x - k * LN2_HIGH, low - k * LN2_LOW);
}

double weir_exp(double x)
{
    return isnan(x) ? x : exp_of(bounded(x, EXP_MIN, EXP_MAX), 0);
}

double weir_exp2(double x)
{
    if (isnan(x))
        return x;
    x = bounded(x, -1080, 1025);
    double k = nearest(x);
    struct pair r = product_of(x - k, LN2);
    return exp_at(k, r.high, r.low + (x - k) * LN2_REST);
}

/* 2^k (e^r - 1 + 1 - 2^-k). */
double weir_expm1(double x)
{
    if (isnan(x) || fabs(x) < 0x1p-54)
        return x;
    x = bounded(x, -40, EXP_MAX);
    double k = nearest(x * PER_LN2);
    double high = x - k * LN2_HIGH, low = -k * LN2_LOW;
    double lost = 1 - scaled(1, (int)-k);
    return scaled(lost + high + (exp_rest(high + low) + low), (int)k);
}

/* ---- logarithms ---- */

/* m 2^k = x > 0, sqrt(1/2) <= m < sqrt(2). */
static double split(double x, double *ret_k)
{
    const uint64_t root_half = 0x3fe6a09e667f3bcd; /* its bits */
    uint64_t bits;
    int below = x < 0x1p-1022 ? 54 : 0;
    x *= below > 0 ? 0x1p54 : 1;
    memcpy(&bits, &x, sizeof(bits));
    int64_t k = (int64_t)(bits - root_half) >> 52;
    *ret_k = (double)(k - below);
    return from_bits(bits - ((uint64_t)k << 52));
}

/* 2 artanh(s) / s - 2 = 2 (z / 3 + z^2 / 5 + ...), z = s^2 < 0.0295; every second term by itself. */
static double artanh_rest(double z)
{
    static const double FIRST[] = {2.0 / 3, 2.0 / 7, 2.0 / 11, 2.0 / 15, 2.0 / 19, 2.0 / 23};
    static const double SECOND[] = {2.0 / 5, 2.0 / 9, 2.0 / 13, 2.0 / 17, 2.0 / 21, 2.0 / 25};
    double w = z * z;
    return z * polynomial(FIRST, w) + w * polynomial(SECOND, w);
}

/* k ln 2 + ln(1 + f) + low: with s = f / (2 + f), ln(1 + f) = 2 artanh(s), and 2 s = f - s f. */
static double ln_of(double k, double f, double low)
{
    double s = f / (2 + f);
    double minor = k * LN2_LOW + low - s * (f - artanh_rest(s * s));
    return k * LN2_HIGH + (f + minor);
}

double weir_ln(double x)
{
    double k;
    if (x <= 0)
        return -INFINITY;
    if (!(x < INFINITY))
        return x;
    double m = split(x, &k);
    return ln_of(k, m - 1, 0);
}

double weir_ln1p(double x)
{
    double k;
    if (x <= -1)
        return -INFINITY;
    if (!(x < INFINITY) || fabs(x) < 0x1p-54)
        return x;
    if (fabs(x) < 0.25)
        return ln_of(0, x, 0);
    struct pair u = sum_of(x, 1);
    double m = split(u.high, &k);
    return ln_of(k, m - 1, u.low / u.high);
}

/* The same with more digits than a double has. */
static struct pair precise_ln(double x)
{
    double k;
    double f = split(x, &k) - 1;
    double divisor = 2 + f, divisor_low = f - (divisor - 2);
    double s = f / divisor;
    struct pair whole = product_of(s, divisor);
    double s_low = (f - whole.high - whole.low - s * divisor_low) / divisor;
    struct pair sum = sum_of(k * LN2_HIGH, 2 * s);
    sum.low += k * LN2_LOW + 2 * s_low + s * artanh_rest(s * s);
    return sum_of(sum.high, sum.low);
}

double weir_pow(double x, double y)
{
    if (y == 0 || x == 1)
        return 1;
    if (isnan(x) || isnan(y) || x < 0)
        return NAN;
    if (x == 0 || x > DBL_MAX)
        return (x == 0) == (y > 0) ? 0 : INFINITY;
    struct pair log = precise_ln(x);
    double rough = y * log.high;
    if (rough < EXP_MIN || rough > EXP_MAX)
        return rough > 0 ? INFINITY : 0;
    struct pair power = product_of(y, log.high);
    return exp_of(power.high, power.low + y * log.low);
}

/* ---- on the circle ---- */

/* Of |f| <= 1/4, by the series. */
static double cospi_of(double f)
{
    double z = f * PI * (f * PI), sum = 0;
    for (int n = 20; n >= 2; n -= 2)
        sum = (1 - sum) * z / (n * (n - 1));
    return 1 - sum;
}

static double sinpi_of(double f)
{
    double x = f * PI, z = x * x, sum = 0;
    for (int n = 20; n >= 2; n -= 2)
        sum = (1 - sum) * z / (n * (n + 1));
    return x - x * sum;
}

double weir_cospi(double x)
{
    if (!(fabs(x) < INFINITY))
        return NAN;
    x = fabs(x) - 2 * floor(fabs(x) / 2);
    int quarter = (int)nearest(2 * x);
    double f = x - quarter / 2.0;
    double value = quarter % 2 == 0 ? cospi_of(f) : -sinpi_of(f);
    return quarter == 2 || quarter == 3 ? -value : value;
}
