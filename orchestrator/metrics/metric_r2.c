/* r2: the share of the variance of the labels that a regression explains. Undefined when all labels are alike. */
#include "orchestrator/metrics/metric.h"

static const struct cfg_key OPTIONS[] = {CFG_END};

static bool measure(const void *options, const struct metric_input *input, double *ret_value)
{
    double mean = 0, left = 0, all = 0;
    (void)options;
    if (input->width != 1)
        return false;
    for (size_t i = 0; i < input->count; i++)
        mean += (double)input->labels[i] / (double)input->count;
    for (size_t i = 0; i < input->count; i++) {
        double label = (double)input->labels[i];
        double off = (double)input->values[i] - label;
        left += off * off;
        all += (label - mean) * (label - mean);
    }
    *ret_value = 1 - left / all;
    return all > 0;
}

const struct metric metric_r2 = {
    .name = "r2",
    .summary =
        "share of the variance of the labels that a regression explains; undefined when they are all alike",
    .options = OPTIONS,
    .options_size = 1,
    .higher_is_better = true,
    .measure = measure,
};
