/* Predicted classes: see classes.h. */
#include "orchestrator/metrics/classes.h"

int64_t orchestrator_class_said(const struct metric_input *input, size_t sample)
{
    const float *values = input->values + sample * input->width;
    size_t best = 0;
    if (input->width == 1)
        return values[0] >= 0.5F;
    for (size_t i = 1; i < input->width; i++)
        if (values[i] > values[best])
            best = i;
    return (int64_t)best;
}

double orchestrator_class_chance(const struct metric_input *input, size_t sample, int64_t label)
{
    const float *values = input->values + sample * input->width;
    if (input->width == 1)
        return label == 1 ? (double)values[0] : 1 - (double)values[0];
    return label >= 0 && (size_t)label < input->width ? (double)values[label] : 0;
}
