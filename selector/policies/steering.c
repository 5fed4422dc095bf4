/* One step of multiplicative weights. */
#include "selector/policies/steering.h"

#include "core/base/elementary.h"

#include <math.h>

enum { EXPONENT_MAX = 30 }; /* of e: nothing that follows can overflow or vanish */

static void normalise(double *shares, size_t count)
{
    double sum = 0;
    for (size_t c = 0; c < count; c++)
        sum += shares[c];
    for (size_t c = 0; c < count; c++)
        shares[c] /= sum;
}

static double mean_of(const struct selection_losses *losses, size_t c)
{
    return losses->sums[c] / (double)losses->counts[c];
}

/* The mean loss over all that was reported of, each component by its share; false: of none. */
static bool find_level(const struct selection_losses *losses, const double *shares, size_t count,
                       double *ret_level)
{
    double sum = 0, weight = 0;
    for (size_t c = 0; c < count; c++) {
        if (losses->counts[c] == 0)
            continue;
        sum += shares[c] * mean_of(losses, c);
        weight += shares[c];
    }
    if (!(weight > 0))
        return false;
    *ret_level = sum / weight;
    return true;
}

void selector_steer(const struct selection_steering *rule, const struct selection_losses *losses,
                    const double *declared, size_t count, double *shares)
{
    double wanted[SELECTION_COMPONENTS_MAX], level = 0;
    for (size_t c = 0; c < count; c++) {
        wanted[c] = declared[c];
        shares[c] = losses->goes_on ? losses->before[c] : declared[c];
    }
    normalise(wanted, count);
    normalise(shares, count);
    if (!find_level(losses, shares, count, &level))
        return;
    for (size_t c = 0; c < count; c++) {
        double step = losses->counts[c] > 0 ? rule->rate * (mean_of(losses, c) - level) : 0;
        step = fmax(-EXPONENT_MAX, fmin(EXPONENT_MAX, step));
        shares[c] *= weir_exp(step);
    }
    normalise(shares, count);
    for (size_t c = 0; c < count; c++)
        shares[c] = (1 - rule->smoothing) * shares[c] + rule->smoothing * wanted[c];
}
