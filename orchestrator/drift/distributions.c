/* Series, continued fractions and recursions behind p-values. */
#include "orchestrator/drift/distributions.h"

#include "core/base/elementary.h"
#include "core/base/memory.h"

#include <math.h>
#include <stdbool.h>
#include <stdlib.h>

static const double PI = 3.14159265358979323846;
static const double CLOSE = 1e-16; /* what a term may be to be left out */

/* ---- Kolmogorov and Smirnov ---- */

double orchestrator_kolmogorov_tail(double x)
{
    double sum = 0;
    if (x <= 0)
        return 1;
    if (x < 0.8) { /* here the other form of the same function converges, not the alternating one */
        for (int k = 1; k < 60; k += 2)
            sum += weir_exp(-k * k * PI * PI / (8 * x * x));
        return fmax(0, 1 - sqrt(2 * PI) / x * sum);
    }
    for (int k = 1; k < 60; k++)
        sum += (k % 2 == 1 ? 2 : -2) * weir_exp(-2.0 * k * k * x * x);
    return fmin(fmax(sum, 0), 1);
}

double orchestrator_smirnov_tail(size_t m, size_t n, double found)
{
    /* inside[j]: the share of the paths to (i, j) that were never `found` or more away from the diagonal. */
    WEIR_AUTO_FREE double *inside = weir_calloc(n + 1, sizeof(*inside));
    for (size_t i = 0; i <= m; i++) {
        for (size_t j = 0; j <= n; j++) {
            double away = fabs((double)i * (double)n - (double)j * (double)m);
            double steps = (double)(i + j);
            if (i + j == 0)
                inside[j] = 1;
            else
                inside[j] = (i > 0 ? inside[j] * (double)i / steps : 0) +
                            (j > 0 ? inside[j - 1] * (double)j / steps : 0);
            if (away > found - 0.5) /* both are integers */
                inside[j] = 0;
        }
    }
    return found < 0.5 ? 1 : fmin(fmax(1 - inside[n], 0), 1);
}

/* ---- Cramér and von Mises ---- */

static double cosh_of(double t)
{
    return (weir_exp(t) + weir_exp(-t)) / 2;
}

/* e^x K_1/4(x) for x > 0, by the trapezoidal rule on ∫ exp(-x (cosh t - 1)) cosh(t / 4) dt over t >= 0, which
 * converges as fast as its step shrinks. */
static double scaled_bessel(double x)
{
    const double step = 0.0625;
    double sum = 0.5;
    for (int i = 1; i < 4000; i++) {
        double t = i * step;
        double term = weir_exp(-x * (cosh_of(t) - 1)) * cosh_of(t / 4);
        sum += term;
        if (term < CLOSE * sum)
            break;
    }
    return sum * step;
}

double orchestrator_cramer_tail(double x)
{
    double sum = 0;
    double ratio = 1; /* Γ(k + 1/2) / (Γ(1/2) k!) */
    if (x <= 0)
        return 1;
    for (int k = 0; k < 200; k++) {
        double width = 4 * k + 1;
        double y = width * width / (16 * x);
        double term = ratio * sqrt(width) * weir_exp(-2 * y) * scaled_bessel(y);
        sum += term;
        if (term < CLOSE)
            break;
        ratio *= (k + 0.5) / (k + 1);
    }
    return fmin(fmax(1 - sum / (PI * sqrt(x)), 0), 1);
}

/* ---- chi-square and normal ---- */

/* ln Γ(a) for a > 0: Stirling's series (Abramowitz & Stegun, 6.1.41) from 12 on, below by Γ(a) = Γ(a + 1) / a. */
static double ln_gamma(double a)
{
    const double half_ln_circle = 0.91893853320467274178; /* ln(2 π) / 2 */
    double product = 1;
    for (; a < 12; a++)
        product *= a;
    double z = 1 / (a * a);
    double rest =
        1.0 / 12 -
        z * (1.0 / 360 - z * (1.0 / 1260 - z * (1.0 / 1680 - z * (1.0 / 1188 - z * 691 / 360360))));
    return (a - 0.5) * weir_ln(a) - a + half_ln_circle + rest / a - weir_ln(product);
}

/* x^a e^-x / Γ(a). */
static double gamma_weight(double a, double x)
{
    return weir_exp(a * weir_ln(x) - x - ln_gamma(a));
}

/* P(a, x) by its series, for x < a + 1. */
static double gamma_below(double a, double x)
{
    double term = 1 / a;
    double sum = term;
    for (int k = 1; k < 100000 && term > sum * CLOSE; k++) {
        term *= x / (a + k);
        sum += term;
    }
    return sum * gamma_weight(a, x);
}

/* Q(a, x) by its continued fraction (Lentz), for x >= a + 1. */
static double gamma_above(double a, double x)
{
    const double tiny = 1e-300;
    double b = x + 1 - a;
    double c = 1 / tiny;
    double d = 1 / b;
    double fraction = d;
    for (int k = 1; k < 100000; k++) {
        double factor = k * (a - k);
        b += 2;
        d = factor * d + b;
        d = 1 / (fabs(d) < tiny ? tiny : d);
        c = b + factor / c;
        c = fabs(c) < tiny ? tiny : c;
        fraction *= c * d;
        if (fabs(c * d - 1) < CLOSE * 10)
            break;
    }
    return fraction * gamma_weight(a, x);
}

double orchestrator_chi_square_tail(double x, double degrees)
{
    double a = degrees / 2;
    x /= 2;
    if (x <= 0)
        return 1;
    return x < a + 1 ? fmax(0, 1 - gamma_below(a, x)) : gamma_above(a, x);
}

double orchestrator_normal_tail(double x)
{
    double both = orchestrator_chi_square_tail(x * x, 1);
    return x > 0 ? both / 2 : 1 - both / 2;
}
