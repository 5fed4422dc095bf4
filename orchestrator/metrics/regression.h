/* What metrics of a regression share: the mean of an error over the samples. */
#ifndef ORCHESTRATOR_METRICS_REGRESSION_H
#define ORCHESTRATOR_METRICS_REGRESSION_H

#include "orchestrator/metrics/metric.h"

/* Of one sample, which lies `off` its label; NaN: it is left out. */
typedef double regression_error_fn(double off, double label);
/* False: the model does not give one number, or no number, or every sample is left out. */
bool orchestrator_regression_measure(const struct metric_input *input, regression_error_fn *error,
                                     double *ret_value);

#endif
