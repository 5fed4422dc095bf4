/* f1: the harmonic mean of precision and recall, 2 right / (said + there). */
#include "orchestrator/metrics/classes.h"

struct f1_options {
    struct class_options classes;
};

static const struct cfg_key OPTIONS[] = {
    CLASS_KEYS(struct f1_options, classes),
    CFG_END,
};

static bool score(const struct class_counts *counts, double *ret_score)
{
    if (counts->said + counts->there == 0)
        return false;
    *ret_score = 2 * (double)counts->right / (double)(counts->said + counts->there);
    return true;
}

static bool measure(const void *options, const struct metric_input *input, double *ret_value)
{
    return orchestrator_class_measure(&((const struct f1_options *)options)->classes, input, score,
                                      ret_value);
}

const struct metric metric_f1 = {
    .name = "f1",
    .summary = "harmonic mean of precision and recall",
    .options = OPTIONS,
    .options_size = sizeof(struct f1_options),
    .higher_is_better = true,
    .measure = measure,
};
