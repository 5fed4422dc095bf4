/* classifier: how well a model can tell the windows apart (Lopez-Paz & Oquab, Revisiting Classifier Two-Sample Tests,
 * ICLR 2017), by the area under the ROC curve of a logistic regression over standardised features, each row scored by
 * a model that has not seen it: row i of a window is in fold i mod `folds`. The distance is 2 AUC - 1: 0 when they
 * cannot be distinguished, 1 when they always can. The p-value is Mann and Whitney's, by the normal distribution. Of
 * a window of more than 2000 rows, so many are taken, evenly spaced. */
#include "core/base/memory.h"
#include "orchestrator/drift/distributions.h"
#include "orchestrator/drift/logistic.h"
#include "orchestrator/drift/statistic.h"

#include <math.h>
#include <stdlib.h>

enum { ROWS_MAX = 2000 };

struct classifier_options {
    uint64_t folds;
    double ridge;
};

static const struct cfg_key OPTIONS[] = {
    CFG_U64(struct classifier_options, folds, .fallback = "5", .min = 2, .max = 100,
            .doc = "parts of the windows, each scored by a model of the others"),
    CFG_F64(struct classifier_options, ridge, .fallback = "1", .min = 1e-6, .max = 1e9,
            .doc =
                "penalty of the weights: ridge / 2 times their square, beside the summed log loss"),
    CFG_END,
};

struct classifier {
    double *values; /* (count, width), standardised */
    bool *labels;   /* of the current window */
    bool *skip;
    size_t *folds;
    size_t count, width;
    struct weir_work *work;
};

struct scored {
    double score;
    bool current;
};

static void take_window(struct classifier *classifier, const struct drift_window *window,
                        bool current, size_t folds)
{
    size_t count = window->count < ROWS_MAX ? window->count : ROWS_MAX;
    for (size_t i = 0; i < count; i++) {
        const float *row = window->values + i * window->count / count * classifier->width;
        size_t at = classifier->count++;
        for (size_t k = 0; k < classifier->width; k++)
            classifier->values[at * classifier->width + k] = (double)row[k];
        classifier->labels[at] = current;
        classifier->folds[at] = i % folds;
    }
}

/* A constant feature becomes 0. */
static void standardise(struct classifier *classifier, size_t feature)
{
    double mean = 0, square = 0;
    double *values = classifier->values + feature;
    for (size_t i = 0; i < classifier->count; i++)
        mean += values[i * classifier->width] / (double)classifier->count;
    for (size_t i = 0; i < classifier->count; i++) {
        double off = values[i * classifier->width] - mean;
        square += off * off / (double)classifier->count;
    }
    double deviation = sqrt(square);
    for (size_t i = 0; i < classifier->count; i++) {
        double *value = &values[i * classifier->width];
        *value = deviation > 1e-12 * fabs(mean) ? (*value - mean) / deviation : 0;
    }
}

static void score_rows(struct classifier *classifier, const struct classifier_options *options,
                       struct scored *ret_scored)
{
    WEIR_AUTO_FREE double *weights = weir_calloc(classifier->width + 1, sizeof(*weights));
    const struct logistic_rows rows = {.values = classifier->values,
                                       .labels = classifier->labels,
                                       .skip = classifier->skip,
                                       .count = classifier->count,
                                       .width = classifier->width,
                                       .work = classifier->work};
    for (size_t fold = 0; fold < options->folds; fold++) {
        for (size_t i = 0; i < classifier->count; i++)
            classifier->skip[i] = classifier->folds[i] == fold;
        orchestrator_logistic_fit(&rows, options->ridge, weights);
        weights[classifier->width] = 0; /* the sizes of the folds say nothing of the rows */
        for (size_t i = 0; i < classifier->count; i++) {
            const double *row = classifier->values + i * classifier->width;
            if (classifier->skip[i])
                ret_scored[i] =
                    (struct scored){orchestrator_logistic_score(row, classifier->width, weights),
                                    classifier->labels[i]};
        }
    }
}

static int by_score(const void *a, const void *b)
{
    double left = ((const struct scored *)a)->score;
    double right = ((const struct scored *)b)->score;
    return (left > right) - (left < right);
}

/* The rank sum of the current window; *ret_ties: Σ t³ - t over groups of t equal scores. */
static double rank_sum(const struct scored *sorted, size_t count, double *ret_ties)
{
    double sum = 0;
    *ret_ties = 0;
    for (size_t from = 0, to = 0; from < count; from = to) {
        size_t members = 0;
        for (to = from; to < count && sorted[to].score == sorted[from].score; to++)
            members += sorted[to].current;
        double tied = (double)(to - from);
        sum += (double)members * ((double)(from + to) + 1) / 2;
        *ret_ties += tied * tied * tied - tied;
    }
    return sum;
}

static void compare(struct scored *scored, size_t count, size_t current, bool p_value,
                    struct drift_distance *ret_distance)
{
    double n = (double)current, m = (double)(count - current), all = (double)count;
    double ties = 0;
    qsort(scored, count, sizeof(*scored), by_score);
    double wins = rank_sum(scored, count, &ties) - n * (n + 1) / 2;
    double variance = m * n / 12 * (all + 1 - ties / (all * (all - 1)));
    ret_distance->distance = 2 * wins / (m * n) - 1;
    if (p_value)
        ret_distance->p_value =
            variance > 0 ? orchestrator_normal_tail((wins - m * n / 2) / sqrt(variance)) : 1;
}

static bool measure(const void *options, const struct drift_input *input,
                    struct drift_distance *ret_distance)
{
    const struct classifier_options *given = options;
    size_t room = input->reference.count + input->current.count;
    if (input->reference.count < given->folds || input->current.count < given->folds)
        return false;
    struct classifier classifier = {.width = input->width, .work = input->work};
    WEIR_AUTO_FREE double *values = weir_calloc(room * input->width, sizeof(*values));
    WEIR_AUTO_FREE bool *flags = weir_calloc(2 * room, sizeof(*flags));
    WEIR_AUTO_FREE size_t *folds = weir_calloc(room, sizeof(*folds));
    WEIR_AUTO_FREE struct scored *scored = weir_calloc(room, sizeof(*scored));
    classifier.values = values;
    classifier.labels = flags;
    classifier.skip = flags + room;
    classifier.folds = folds;
    take_window(&classifier, &input->reference, false, given->folds);
    size_t reference = classifier.count;
    take_window(&classifier, &input->current, true, given->folds);
    for (size_t k = 0; k < input->width; k++)
        standardise(&classifier, k);
    score_rows(&classifier, given, scored);
    compare(scored, classifier.count, classifier.count - reference, input->p_value, ret_distance);
    return true;
}

const struct drift_statistic orchestrator_statistic_classifier = {
    .name = "classifier",
    .summary = "accuracy with which a logistic regression tells the windows apart: 0 not at all, 1 "
               "always",
    .options = OPTIONS,
    .options_size = sizeof(struct classifier_options),
    .has_p_value = true,
    .measure = measure,
};
