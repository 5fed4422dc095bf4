/* top_n: the share of samples whose label is among the n most probable classes. Of equally probable
 * ones the first is the more probable, as for accuracy. */
#include "orchestrator/metrics/classes.h"

struct top_n_options {
    uint64_t n;
};

static const struct cfg_key OPTIONS[] = {
    CFG_U64(struct top_n_options, n, .fallback = "5", .min = 1, .max = 1000000,
            .doc = "number of classes that count"),
    CFG_END,
};

static size_t classes_above(const struct metric_input *input, size_t sample, size_t label)
{
    const float *values = input->values + sample * input->width;
    size_t above = 0;
    for (size_t i = 0; i < input->width; i++)
        above += values[i] > values[label] || (values[i] == values[label] && i < label);
    return above;
}

static bool measure(const void *options, const struct metric_input *input, double *ret_value)
{
    uint64_t n = ((const struct top_n_options *)options)->n;
    size_t right = 0;
    if (input->width == 1 && n > 1) {
        *ret_value = 1; /* one of two */
        return true;
    }
    for (size_t i = 0; i < input->count; i++) {
        int64_t label = input->labels[i];
        if (input->width == 1)
            right += orchestrator_class_said(input, i) == label;
        else if (label >= 0 && (size_t)label < input->width)
            right += classes_above(input, i, (size_t)label) < n;
    }
    *ret_value = (double)right / (double)input->count;
    return true;
}

const struct metric orchestrator_metric_top_n = {
    .name = "top_n",
    .summary = "share of samples whose label is among the n most probable classes",
    .options = OPTIONS,
    .options_size = sizeof(struct top_n_options),
    .higher_is_better = true,
    .measure = measure,
};
