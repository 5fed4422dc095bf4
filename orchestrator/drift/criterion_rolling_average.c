/* rolling_average: worse than the mean of the last values by a margin. */
#include "orchestrator/drift/criterion.h"

#include <math.h>

struct rolling_options {
    uint64_t window;
    double deviation;
    bool absolute;
};

static const struct cfg_key OPTIONS[] = {
    CFG_U64(struct rolling_options, window, .fallback = "10", .min = 1, .max = CRITERION_WINDOW_MAX,
            .doc = "values that are remembered"),
    CFG_F64(struct rolling_options, deviation, .fallback = "0.05", .min = 0, .max = 1e9,
            .doc = "distance from their mean at which it fires"),
    CFG_BOOL(
        struct rolling_options, absolute, .fallback = "false",
        .doc = "false: the deviation is a share of the mean; true: it is in the value's own unit"),
    CFG_END,
};

static size_t window_of(const void *options)
{
    return ((const struct rolling_options *)options)->window;
}

static struct criterion_verdict judge(const void *options, const struct criterion_past *past,
                                      const struct criterion_value *value)
{
    const struct rolling_options *rolling = options;
    double sign = value->lower_is_worse ? -1 : 1;
    double mean = 0;
    if (past->count == 0)
        return (struct criterion_verdict){.limit = NAN};
    for (size_t i = 0; i < past->count; i++)
        mean += past->values[i];
    mean /= (double)past->count;
    double limit = mean + rolling->deviation * (rolling->absolute ? 1 : fabs(mean));
    return (struct criterion_verdict){.fires = sign * value->value >= limit, .limit = sign * limit};
}

const struct criterion_kind orchestrator_criterion_rolling_average = {
    .name = "rolling_average",
    .summary =
        "worse than the mean of the last values by a margin; the first one only fills the window",
    .options = OPTIONS,
    .options_size = sizeof(struct rolling_options),
    .window = window_of,
    .judge = judge,
};
