/* perplexity: e to the log loss: among how many classes, all alike, one would have to guess to do as badly. */
#include "orchestrator/metrics/classes.h"

#include <math.h>

static const struct cfg_key OPTIONS[] = {CFG_END};

static bool measure(const void *options, const struct metric_input *input, double *ret_value)
{
    (void)options;
    *ret_value = exp(orchestrator_class_log_loss(input));
    return true;
}

const struct metric metric_perplexity = {
    .name = "perplexity",
    .summary = "e to the log loss",
    .options = OPTIONS,
    .options_size = 1,
    .higher_is_better = false,
    .measure = measure,
};
