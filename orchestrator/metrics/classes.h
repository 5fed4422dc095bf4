/* The classes that a model predicts, and the probability of each. */
#ifndef ORCHESTRATOR_METRICS_CLASSES_H
#define ORCHESTRATOR_METRICS_CLASSES_H

#include "orchestrator/metrics/metric.h"

/* The most probable class, the first of equal ones; of width 1 the positive class from a half on. */
int64_t orchestrator_class_said(const struct metric_input *input, size_t sample);
/* The probability given to class `label`; 0 for one the model does not know. */
double orchestrator_class_chance(const struct metric_input *input, size_t sample, int64_t label);

#endif
