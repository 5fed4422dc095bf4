/* Least confidence, entropy and margin of one prediction. */
#include "core/base/doubt.h"

#include "core/base/elementary.h"

const char *const WEIR_DOUBT_NAMES[] = {"least_confidence", "entropy", "margin", NULL};

static double probability(const float *prediction, size_t width, size_t class)
{
    double first = (double)prediction[width == 1 ? 0 : class];
    double p = width == 1 && class == 0 ? 1 - first : first;

    return p > 0 ? (p < 1 ? p : 1) : 0;
}

static double entropy_of(const float *prediction, size_t width, size_t classes)
{
    double entropy = 0;

    for (size_t i = 0; i < classes; i++) {
        double p = probability(prediction, width, i);
        if (p > 0)
            entropy -= p * weir_ln(p);
    }
    return entropy;
}

double weir_doubt_of(const float *prediction, size_t width, enum weir_doubt metric)
{
    size_t classes = width == 1 ? 2 : width;
    double best = 0, second = 0;

    if (metric == WEIR_DOUBT_ENTROPY)
        return entropy_of(prediction, width, classes);
    for (size_t i = 0; i < classes; i++) {
        double p = probability(prediction, width, i);
        second = p > best ? best : p > second ? p : second;
        best = p > best ? p : best;
    }
    return metric == WEIR_DOUBT_MARGIN ? second - best : -best;
}
