/* accuracy: the share of samples whose most probable class is their label. */
#include "orchestrator/metrics/metric.h"

static int64_t most_probable(const float *values, size_t width)
{
    if (width == 1)
        return values[0] >= 0.5F;
    size_t best = 0;
    for (size_t i = 1; i < width; i++)
        if (values[i] > values[best])
            best = i;
    return (int64_t)best;
}

static bool measure(const struct metric_input *input, double *ret_value)
{
    if (input->count == 0 || input->width == 0)
        return false;
    size_t right = 0;
    for (size_t i = 0; i < input->count; i++)
        right += most_probable(input->values + i * input->width, input->width) == input->labels[i];
    *ret_value = (double)right / (double)input->count;
    return true;
}

const struct metric metric_accuracy = {
    .name = "accuracy",
    .summary = "share of samples whose most probable class is their label",
    .higher_is_better = true,
    .measure = measure,
};
