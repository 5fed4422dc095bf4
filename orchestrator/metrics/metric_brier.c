/* brier: the squared distance of the probabilities from the truth (Brier 1950): of the positive
 * class alone when there are two and the model gives one, else summed over the classes. */
#include "orchestrator/metrics/classes.h"

static const struct cfg_key OPTIONS[] = {CFG_END};

static bool measure(const void *options, const struct metric_input *input, double *ret_value)
{
    double sum = 0;
    (void)options;
    for (size_t i = 0; i < input->count; i++) {
        for (size_t k = 0; k < input->width; k++) {
            int64_t label = input->width == 1 ? 1 : (int64_t)k;
            double off = orchestrator_class_chance(input, i, label) - (input->labels[i] == label);
            sum += off * off;
        }
    }
    *ret_value = sum / (double)input->count;
    return true;
}

const struct metric metric_brier = {
    .name = "brier",
    .summary = "squared distance of the probabilities from the truth",
    .options = OPTIONS,
    .options_size = 1,
    .higher_is_better = false,
    .measure = measure,
};
