/* recall: of a class, the share that was said to be. */
#include "orchestrator/metrics/classes.h"

struct recall_options {
    struct class_options classes;
};

static const struct cfg_key OPTIONS[] = {
    CLASS_KEYS(struct recall_options, classes),
    CFG_END,
};

static bool score(const struct class_counts *counts, double *ret_score)
{
    if (counts->there == 0)
        return false;
    *ret_score = (double)counts->right / (double)counts->there;
    return true;
}

static bool measure(const void *options, const struct metric_input *input, double *ret_value)
{
    return orchestrator_class_measure(&((const struct recall_options *)options)->classes, input,
                                      score, ret_value);
}

const struct metric metric_recall = {
    .name = "recall",
    .summary = "share of a class that is said to be; 0 in an average for a class that is not there",
    .options = OPTIONS,
    .options_size = sizeof(struct recall_options),
    .higher_is_better = true,
    .measure = measure,
};
