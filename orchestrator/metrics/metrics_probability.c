/* log_loss, perplexity, brier: how good the probabilities of a classifier are. */
#include "core/base/elementary.h"
#include "orchestrator/metrics/classes.h"

#include <math.h>

static const struct cfg_key OPTIONS[] = {CFG_END};

/* Probabilities are kept 1e-15 away from 0 and 1. */
static double log_loss(const struct metric_input *input)
{
    const double least = 1e-15;
    double sum = 0;

    for (size_t i = 0; i < input->count; i++) {
        double p = orchestrator_class_chance(input, i, input->labels[i]);

        sum -= weir_ln(fmin(fmax(p, least), 1 - least));
    }
    return sum / (double)input->count;
}

/* The number of classes, all alike, among which one would have to guess to do as badly. */
static double perplexity(const struct metric_input *input)
{
    return weir_exp(log_loss(input));
}

/* Brier 1950: of the positive class alone when there are two and the model gives one, else summed over the classes. */
static double brier(const struct metric_input *input)
{
    double sum = 0;

    for (size_t i = 0; i < input->count; i++) {
        for (size_t k = 0; k < input->width; k++) {
            int64_t label = input->width == 1 ? 1 : (int64_t)k;
            double off = orchestrator_class_chance(input, i, label) - (input->labels[i] == label);

            sum += off * off;
        }
    }
    return sum / (double)input->count;
}

#define PROBABILITY(name_, summary_)                                                \
    static bool measure_##name_(const void *options, const struct metric_input *in, \
                                double *ret_value)                                  \
    {                                                                               \
        (void)options;                                                              \
        *ret_value = name_(in);                                                     \
        return true;                                                                \
    }                                                                               \
    const struct metric orchestrator_metric_##name_ = {                             \
        .name = #name_,                                                             \
        .summary = summary_,                                                        \
        .options = OPTIONS,                                                         \
        .options_size = 1,                                                          \
        .higher_is_better = false,                                                  \
        .measure = measure_##name_,                                                 \
    };

PROBABILITY(log_loss, "mean of -log(probability given to the label)")
PROBABILITY(perplexity, "e to the log loss")
PROBABILITY(brier, "squared distance of the probabilities from the truth")
