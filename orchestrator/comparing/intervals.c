/* Student's t by the incomplete beta function: NIST Digital Library of Mathematical Functions, 8.17.22 (the continued
 * fraction, evaluated as in 1.12(iii) by the modified method of Lentz) and 26.7.1 of Abramowitz and Stegun, Handbook of
 * Mathematical Functions (1964). */
#include "orchestrator/comparing/intervals.h"

#include "core/base/elementary.h"

#include <math.h>

enum { TERMS = 300, HALVINGS = 200 };

static const double PI = 3.14159265358979323846;
static const double TINY = 1e-300;
static const double BEYOND = 0.05; /* the share of means that the interval misses */

/* B(degrees / 2, 1 / 2), from B(1/2, 1/2) or B(1, 1/2) upwards. */
static double beta(size_t degrees)
{
    bool is_odd = degrees % 2 == 1;
    double value = is_odd ? PI : 2;
    for (double a = is_odd ? 0.5 : 1; a + 0.75 < (double)degrees / 2; a += 1)
        value *= a / (a + 0.5);
    return value;
}

/* The coefficient of order `m` >= 1 of the continued fraction of I_x(a, b). */
static double coefficient(int order, double a, double b, double x)
{
    int m = order / 2;
    return order % 2 == 0 ? m * (b - m) * x / ((a + 2 * m - 1) * (a + 2 * m))
                          : -(a + m) * (a + b + m) * x / ((a + 2 * m) * (a + 2 * m + 1));
}

static double away_from_zero(double value)
{
    return fabs(value) < TINY ? TINY : value;
}

/* 1 / (1 + d1 / (1 + d2 / …)), which converges fast below (a + 1) / (a + b + 2). All terms are taken: one that changes
 * nothing may be followed by others that do. */
static double fraction(double a, double b, double x)
{
    double f = 1, c = 1, d = 0;
    for (int order = 1; order < TERMS; order++) {
        double term = coefficient(order, a, b, x);
        d = 1 / away_from_zero(1 + term * d);
        c = away_from_zero(1 + term / c);
        f *= c * d;
    }
    return 1 / f;
}

/* I_x(degrees / 2, 1 / 2), of which x and 1 - x are both given. */
static double incomplete_beta(size_t degrees, double x, double rest)
{
    double a = (double)degrees / 2, b = 0.5;
    double front = weir_pow(x, a) * weir_pow(rest, b) / beta(degrees);
    return x < (a + 1) / (a + b + 2) ? front / a * fraction(a, b, x)
                                     : 1 - front / b * fraction(b, a, rest);
}

/* P(|T| >= t) of Student's t. */
static double student_tails(double t, size_t degrees)
{
    double all = (double)degrees + t * t;
    return incomplete_beta(degrees, (double)degrees / all, t * t / all);
}

double orchestrator_student_quantile(double tails, size_t degrees)
{
    double low = 0, high = 1;
    while (student_tails(high, degrees) > tails && high < 1e300)
        high *= 2;
    for (int i = 0; i < HALVINGS && low < high; i++) {
        double middle = low + (high - low) / 2;
        if (student_tails(middle, degrees) > tails)
            low = middle;
        else
            high = middle;
    }
    return high;
}

struct mean_interval orchestrator_interval_of(const double *values, size_t count)
{
    struct mean_interval found = {.count = count};
    double squares = 0;
    if (count == 0)
        return found;
    for (size_t i = 0; i < count; i++)
        found.mean += values[i] / (double)count;
    found.low = found.high = found.mean;
    found.has_interval = count > 1;
    if (!found.has_interval)
        return found;
    for (size_t i = 0; i < count; i++)
        squares += (values[i] - found.mean) * (values[i] - found.mean);
    double error = sqrt(squares / (double)(count - 1) / (double)count);
    double half = orchestrator_student_quantile(BEYOND, count - 1) * error;
    found.low -= half;
    found.high += half;
    return found;
}
