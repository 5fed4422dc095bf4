/* precision: of what was said to be a class, the share that is. */
#include "orchestrator/metrics/classes.h"

struct precision_options {
    struct class_options classes;
};

static const struct cfg_key OPTIONS[] = {
    CLASS_KEYS(struct precision_options, classes),
    CFG_END,
};

static bool score(const struct class_counts *counts, double *ret_score)
{
    if (counts->said == 0)
        return false;
    *ret_score = (double)counts->right / (double)counts->said;
    return true;
}

static bool measure(const void *options, const struct metric_input *input, double *ret_value)
{
    return orchestrator_class_measure(&((const struct precision_options *)options)->classes, input,
                                      score, ret_value);
}

const struct metric metric_precision = {
    .name = "precision",
    .summary =
        "share of what is said to be a class that is; 0 in an average for a class that is never said",
    .options = OPTIONS,
    .options_size = sizeof(struct precision_options),
    .higher_is_better = true,
    .measure = measure,
};
