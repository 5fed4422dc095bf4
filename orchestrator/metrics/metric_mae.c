/* mae: the mean absolute error of a regression. */
#include "orchestrator/metrics/regression.h"

#include <math.h>

static const struct cfg_key OPTIONS[] = {CFG_END};

static double error(double off, double label)
{
    (void)label;
    return fabs(off);
}

static bool measure(const void *options, const struct metric_input *input, double *ret_value)
{
    (void)options;
    return orchestrator_regression_measure(input, error, ret_value);
}

const struct metric metric_mae = {
    .name = "mae",
    .summary = "mean absolute error of a regression",
    .options = OPTIONS,
    .options_size = 1,
    .higher_is_better = false,
    .measure = measure,
};
