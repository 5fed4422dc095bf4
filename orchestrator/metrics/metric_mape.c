/* mape: the mean absolute error as a share of the label. Labels of 0 have none and are left out. */
#include "orchestrator/metrics/metric.h"

#include <math.h>

static const struct cfg_key OPTIONS[] = {CFG_END};

static bool measure(const void *options, const struct metric_input *input, double *ret_value)
{
    double sum = 0;
    size_t count = 0;
    (void)options;
    if (input->width != 1)
        return false;
    for (size_t i = 0; i < input->count; i++) {
        double label = (double)input->labels[i];
        if (input->labels[i] == 0)
            continue;
        sum += fabs(((double)input->values[i] - label) / label);
        count++;
    }
    *ret_value = sum / (double)count;
    return count > 0;
}

const struct metric metric_mape = {
    .name = "mape",
    .summary = "mean absolute error as a share of the label; labels of 0 are left out",
    .options = OPTIONS,
    .options_size = 1,
    .higher_is_better = false,
    .measure = measure,
};
