/* r2: the share of the variance of the labels that a regression explains. Undefined when all labels are alike. */
#include "orchestrator/metrics/regression.h"

static const struct cfg_key OPTIONS[] = {CFG_END};

static bool of_output(const struct metric_input *input, size_t output, double *ret_value)
{
    double mean = 0, left = 0, all = 0;
    for (size_t i = 0; i < input->count; i++)
        mean += orchestrator_label_number(input, i, output) / (double)input->count;
    for (size_t i = 0; i < input->count; i++) {
        double label = orchestrator_label_number(input, i, output);
        double off = (double)input->values[i * input->width + output] - label;
        left += off * off;
        all += (label - mean) * (label - mean);
    }
    *ret_value = 1 - left / all;
    return all > 0;
}

static bool measure(const void *options, const struct metric_input *input, double *ret_value)
{
    (void)options;
    return orchestrator_regression_mean(input, of_output, ret_value);
}

const struct metric metric_r2 = {
    .name = "r2",
    .summary =
        "share of the variance of the labels that a regression explains; undefined when they are all alike",
    .options = OPTIONS,
    .options_size = 1,
    .higher_is_better = true,
    .of_vectors = true,
    .measure = measure,
};
