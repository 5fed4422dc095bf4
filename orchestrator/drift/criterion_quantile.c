/* quantile: worse than nearly all of the last values. Quantiles lie on straight lines between order statistics (type 7
 * of Hyndman & Fan, Sample Quantiles in Statistical Packages, 1996). */
#include "core/base/memory.h"
#include "core/base/number.h"
#include "orchestrator/drift/criterion.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

struct quantile_options {
    uint64_t window;
    double quantile;
};

static const struct cfg_key OPTIONS[] = {
    CFG_U64(struct quantile_options, window, .fallback = "10", .min = 1,
            .max = CRITERION_WINDOW_MAX, .doc = "values that are remembered"),
    CFG_F64(struct quantile_options, quantile, .fallback = "0.05", .min = 0, .max = 0.5,
            .doc = "the share of them that may be worse: fires beyond that"),
    CFG_END,
};

static size_t window_of(const void *options)
{
    return ((const struct quantile_options *)options)->window;
}

static double upper_quantile(const struct criterion_past *past, double share)
{
    WEIR_AUTO_FREE double *sorted = weir_calloc(past->count, sizeof(*sorted));
    memcpy(sorted, past->values, past->count * sizeof(*sorted));
    qsort(sorted, past->count, sizeof(*sorted), weir_order_doubles);
    double at = (1 - share) * (double)(past->count - 1);
    size_t below = (size_t)at;
    double rest = at - (double)below;
    return rest > 0 ? sorted[below] + rest * (sorted[below + 1] - sorted[below]) : sorted[below];
}

static struct criterion_verdict judge(const void *options, const struct criterion_past *past,
                                      const struct criterion_value *value)
{
    double sign = value->lower_is_worse ? -1 : 1;
    if (past->count == 0)
        return (struct criterion_verdict){.limit = NAN};
    double limit = upper_quantile(past, ((const struct quantile_options *)options)->quantile);
    return (struct criterion_verdict){.fires = sign * value->value > limit, .limit = sign * limit};
}

const struct criterion_kind orchestrator_criterion_quantile = {
    .name = "quantile",
    .summary = "worse than nearly all of the last values; the first one only fills the window",
    .options = OPTIONS,
    .options_size = sizeof(struct quantile_options),
    .window = window_of,
    .judge = judge,
};
