/* rmse: the root of the mean squared error of a regression, in the unit of the label. */
#include "orchestrator/metrics/regression.h"

#include <math.h>

static const struct cfg_key OPTIONS[] = {CFG_END};

static double error(double off, double label)
{
    (void)label;
    return off * off;
}

static bool of_output(const struct metric_input *input, size_t output, double *ret_value)
{
    if (!orchestrator_regression_error(input, output, error, ret_value))
        return false;
    *ret_value = sqrt(*ret_value);
    return true;
}

static bool measure(const void *options, const struct metric_input *input, double *ret_value)
{
    (void)options;
    return orchestrator_regression_mean(input, of_output, ret_value);
}

const struct metric metric_rmse = {
    .name = "rmse",
    .summary = "root of the mean squared error of a regression",
    .options = OPTIONS,
    .options_size = 1,
    .higher_is_better = false,
    .of_vectors = true,
    .measure = measure,
};
