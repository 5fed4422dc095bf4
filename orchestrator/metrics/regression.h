/* What metrics of a regression share: the mean of an error over the samples. Of labels that are
 * vectors each number is an output of its own, and the outputs' values are averaged. */
#ifndef ORCHESTRATOR_METRICS_REGRESSION_H
#define ORCHESTRATOR_METRICS_REGRESSION_H

#include "orchestrator/metrics/metric.h"

/* Of one sample, which lies `off` its label; NaN: it is left out. */
typedef double regression_error_fn(double off, double label);
/* The mean over the samples, for one output; NaN when the model says no number. False: every sample is left out. */
bool orchestrator_regression_error(const struct metric_input *input, size_t output,
                                   regression_error_fn *error, double *ret_value);

/* Of one output; false: undefined. */
typedef bool regression_output_fn(const struct metric_input *input, size_t output,
                                  double *ret_value);
/* The mean over the outputs that have a value. False: none has, or the model does not give one
 * number for each of the label. */
bool orchestrator_regression_mean(const struct metric_input *input, regression_output_fn *of_output,
                                  double *ret_value);

double orchestrator_label_number(const struct metric_input *input, size_t sample, size_t output);

#endif
