/* mse: the mean squared error of a regression. */
#include "orchestrator/metrics/metric.h"

static const struct cfg_key OPTIONS[] = {CFG_END};

static bool measure(const void *options, const struct metric_input *input, double *ret_value)
{
    double sum = 0;
    (void)options;
    if (input->width != 1)
        return false;
    for (size_t i = 0; i < input->count; i++) {
        double off = (double)input->values[i] - (double)input->labels[i];
        sum += off * off;
    }
    *ret_value = sum / (double)input->count;
    return true;
}

const struct metric metric_mse = {
    .name = "mse",
    .summary = "mean squared error of a regression",
    .options = OPTIONS,
    .options_size = 1,
    .higher_is_better = false,
    .measure = measure,
};
