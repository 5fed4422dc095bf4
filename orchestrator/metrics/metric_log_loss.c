/* log_loss: the mean of -log(probability given to the label); probabilities are kept 1e-15 away
 * from 0 and 1. */
#include "orchestrator/metrics/classes.h"

static const struct cfg_key OPTIONS[] = {CFG_END};

static bool measure(const void *options, const struct metric_input *input, double *ret_value)
{
    (void)options;
    *ret_value = orchestrator_class_log_loss(input);
    return true;
}

const struct metric metric_log_loss = {
    .name = "log_loss",
    .summary = "mean of -log(probability given to the label)",
    .options = OPTIONS,
    .options_size = 1,
    .higher_is_better = false,
    .measure = measure,
};
