/* log_loss: the mean of -log(probability given to the label); probabilities are kept 1e-15 away
 * from 0 and 1. */
#include "orchestrator/metrics/metric.h"

#include <math.h>

static double probability_of(const float *values, size_t width, int64_t label)
{
    if (width == 1)
        return label == 1 ? (double)values[0] : 1 - (double)values[0];
    return label >= 0 && (size_t)label < width ? (double)values[label] : 0;
}

static bool measure(const struct metric_input *input, double *ret_value)
{
    const double least = 1e-15;
    if (input->count == 0 || input->width == 0)
        return false;
    double sum = 0;
    for (size_t i = 0; i < input->count; i++) {
        double p = probability_of(input->values + i * input->width, input->width, input->labels[i]);
        sum -= log(fmin(fmax(p, least), 1 - least));
    }
    *ret_value = sum / (double)input->count;
    return true;
}

const struct metric metric_log_loss = {
    .name = "log_loss",
    .summary = "mean of -log(probability given to the label)",
    .higher_is_better = false,
    .measure = measure,
};
