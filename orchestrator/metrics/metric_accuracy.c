/* accuracy: the share of samples whose most probable class is their label. */
#include "orchestrator/metrics/classes.h"

static const struct cfg_key OPTIONS[] = {CFG_END};

static bool measure(const void *options, const struct metric_input *input, double *ret_value)
{
    size_t right = 0;
    (void)options;
    for (size_t i = 0; i < input->count; i++)
        right += orchestrator_class_said(input, i) == input->labels[i];
    *ret_value = (double)right / (double)input->count;
    return true;
}

const struct metric orchestrator_metric_accuracy = {
    .name = "accuracy",
    .summary = "share of samples whose most probable class is their label",
    .options = OPTIONS,
    .options_size = 1,
    .higher_is_better = true,
    .measure = measure,
};
