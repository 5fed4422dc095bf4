/* What metrics of classes share: which class was said, and how it was counted. */
#ifndef ORCHESTRATOR_METRICS_CLASSES_H
#define ORCHESTRATOR_METRICS_CLASSES_H

#include "orchestrator/metrics/metric.h"

/* The most probable class, the first of equal ones; of width 1 the positive class from a half on. */
int64_t orchestrator_class_said(const struct metric_input *input, size_t sample);
/* The probability given to class `label`; 0 for one the model does not know. */
double orchestrator_class_chance(const struct metric_input *input, size_t sample, int64_t label);

/* The mean of -log(probability given to the label), probabilities kept 1e-15 away from 0 and 1. */
double orchestrator_class_log_loss(const struct metric_input *input);

/* Of one class against the rest. */
struct class_counts {
    size_t right; /* said, and so it was */
    size_t said;
    size_t there; /* samples with this label */
};

enum class_average { AVERAGE_BINARY, AVERAGE_MICRO, AVERAGE_MACRO, AVERAGE_WEIGHTED };

struct class_options {
    int average; /* enum class_average */
    int64_t of;  /* one class alone; below 0: as `average` says */
};

extern const char *const CLASS_AVERAGES[];

/* The two keys of a metric that is counted class by class. */
// clang-format off
#define CLASS_KEYS(owner, member)                                                                 \
    CFG_KEY_AS("average", CFG_KIND_CHOICE, int, owner, member.average, .fallback = "binary",      \
               .choices = CLASS_AVERAGES,                                                         \
               .doc = "binary: of the positive class 1; micro: all decisions together; macro: "   \
                      "mean over the classes; weighted: mean by samples of each"),                \
    CFG_KEY_AS("class", CFG_KIND_I64, int64_t, owner, member.of, .fallback = "-1", .min = -1,     \
               .max = 1e9, .doc = "of this class alone, by its number; -1: as average says")
// clang-format on

/* `score` of the counts of a class: false where it is 0 / 0. Averages count a class without a score
 * as 0, and know the classes that are said or there. */
typedef bool class_score_fn(const struct class_counts *counts, double *ret_score);
bool orchestrator_class_measure(const struct class_options *options,
                                const struct metric_input *input, class_score_fn *score,
                                double *ret_value);

#endif
