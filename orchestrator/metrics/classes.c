/* Counting class by class, and averaging: see classes.h. */
#include "orchestrator/metrics/classes.h"

#include "core/base/memory.h"
#include "core/base/number.h"

#include <math.h>
#include <stdlib.h>

const char *const CLASS_AVERAGES[] = {"binary", "micro", "macro", "weighted", NULL};

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

double orchestrator_class_log_loss(const struct metric_input *input)
{
    const double least = 1e-15;
    double sum = 0;
    for (size_t i = 0; i < input->count; i++) {
        double p = orchestrator_class_chance(input, i, input->labels[i]);
        sum -= weir_ln(fmin(fmax(p, least), 1 - least));
    }
    return sum / (double)input->count;
}

/* Labels that the model has no output for are classes behind the last, all in one. */
static size_t index_of(int64_t label, size_t classes)
{
    return label >= 0 && (size_t)label < classes ? (size_t)label : classes;
}

/* classes + 1 of them; the caller frees. */
static struct class_counts *count_classes(const struct metric_input *input, size_t classes)
{
    struct class_counts *counts = weir_calloc(classes + 1, sizeof *counts);
    for (size_t i = 0; i < input->count; i++) {
        size_t said = index_of(orchestrator_class_said(input, i), classes);
        size_t label = index_of(input->labels[i], classes);
        counts[said].said++;
        counts[label].there++;
        counts[label].right += said == label;
    }
    return counts;
}

static bool average(const struct class_options *options, const struct class_counts *counts,
                    size_t classes, class_score_fn *score, double *ret_value)
{
    double sum = 0;
    double weights = 0;
    for (size_t i = 0; i <= classes; i++) {
        double value = 0;
        double weight = options->average == AVERAGE_WEIGHTED ? (double)counts[i].there : 1;
        if (counts[i].said + counts[i].there == 0)
            continue;
        if (score(&counts[i], &value))
            sum += weight * value;
        weights += weight;
    }
    *ret_value = sum / weights;
    return true;
}

bool orchestrator_class_measure(const struct class_options *options,
                                const struct metric_input *input, class_score_fn *score,
                                double *ret_value)
{
    size_t classes = input->width == 1 ? 2 : input->width;
    WEIR_AUTO_FREE struct class_counts *counts = count_classes(input, classes);
    if (options->of >= 0)
        return (size_t)options->of < classes && score(&counts[options->of], ret_value);
    if (options->average == AVERAGE_BINARY)
        return classes == 2 && score(&counts[1], ret_value);
    if (options->average != AVERAGE_MICRO)
        return average(options, counts, classes, score, ret_value);
    struct class_counts all = {0};
    for (size_t i = 0; i <= classes; i++) {
        all.right += counts[i].right;
        all.said += counts[i].said;
        all.there += counts[i].there;
    }
    return score(&all, ret_value);
}
