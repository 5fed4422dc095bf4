/* precision, recall, f1: what is said of a class against what is there, counted class by class. */
#include "core/base/memory.h"
#include "orchestrator/metrics/classes.h"

#include <stdlib.h>

enum average { AVERAGE_BINARY, AVERAGE_MICRO, AVERAGE_MACRO, AVERAGE_WEIGHTED };
static const char *const AVERAGES[] = {"binary", "micro", "macro", "weighted", NULL};

struct options {
    int average; /* enum average */
    int64_t of;  /* one class alone; below 0: as `average` says */
};

static const struct cfg_key OPTIONS[] = {
    CFG_CHOICE(struct options, average, .fallback = "binary", .choices = AVERAGES,
               .doc = "binary: of the positive class 1; micro: all decisions together; macro: "
                      "mean over the classes; weighted: mean by samples of each"),
    CFG_KEY_AS("class", CFG_KIND_I64, int64_t, struct options, of, .fallback = "-1", .min = -1,
               .max = 1e9, .doc = "of this class alone, by its number; -1: as average says"),
    CFG_END,
};

/* Counts of one class against the rest. */
struct class_counts {
    size_t right; /* said, and so it was */
    size_t said;
    size_t there; /* samples with this label */
};

/* The score of the counts of a class; false where it is 0 / 0. Averages count a class without a score as 0, and know
 * the classes that are said or there. */
typedef bool score_fn(const struct class_counts *counts, double *ret_score);

/* ---- counting and averaging ---- */

/* Labels that the model has no output for are classes after the last, all in one. */
static size_t index_of(int64_t label, size_t classes)
{
    return label >= 0 && (size_t)label < classes ? (size_t)label : classes;
}

/* Counts of classes + 1 classes; the caller frees. */
static struct class_counts *count_classes(const struct metric_input *input, size_t classes)
{
    struct class_counts *counts = weir_calloc(classes + 1, sizeof(*counts));
    for (size_t i = 0; i < input->count; i++) {
        size_t said = index_of(orchestrator_class_said(input, i), classes);
        size_t label = index_of(input->labels[i], classes);
        counts[said].said++;
        counts[label].there++;
        counts[label].right += said == label;
    }
    return counts;
}

static bool average(const struct options *options, const struct class_counts *counts,
                    size_t classes, score_fn *score, double *ret_value)
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

static bool measure(const struct options *options, const struct metric_input *input,
                    score_fn *score, double *ret_value)
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

/* ---- scores ---- */

static bool share(size_t part, size_t whole, double *ret_share)
{
    *ret_share = (double)part / (double)whole;
    return whole > 0;
}

static bool precision(const struct class_counts *counts, double *ret_score)
{
    return share(counts->right, counts->said, ret_score);
}

static bool recall(const struct class_counts *counts, double *ret_score)
{
    return share(counts->right, counts->there, ret_score);
}

/* The harmonic mean of precision and recall. */
static bool f1(const struct class_counts *counts, double *ret_score)
{
    return share(2 * counts->right, counts->said + counts->there, ret_score);
}

#define COUNTED(name_, summary_)                                                    \
    static bool measure_##name_(const void *options, const struct metric_input *in, \
                                double *ret_value)                                  \
    {                                                                               \
        return measure(options, in, name_, ret_value);                              \
    }                                                                               \
    const struct metric orchestrator_metric_##name_ = {                             \
        .name = #name_,                                                             \
        .summary = summary_,                                                        \
        .options = OPTIONS,                                                         \
        .options_size = sizeof(struct options),                                     \
        .higher_is_better = true,                                                   \
        .measure = measure_##name_,                                                 \
    };

COUNTED(
    precision,
    "share of what is said to be a class that is; 0 in an average for a class that is never said")
COUNTED(recall,
        "share of a class that is said to be; 0 in an average for a class that is not there")
COUNTED(f1, "harmonic mean of precision and recall")
