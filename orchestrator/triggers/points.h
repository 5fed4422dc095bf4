/* The outputs of a model for the samples of a check, as metrics read them. Pure. */
#ifndef ORCHESTRATOR_TRIGGERS_POINTS_H
#define ORCHESTRATOR_TRIGGERS_POINTS_H

#include "orchestrator/metrics/metric.h"
#include "orchestrator/triggers/trigger.h"

/* Borrows from `points`. */
struct metric_input orchestrator_trigger_points_input(const struct trigger_points *points);
/* The share that the model got right. False: there are no points. */
bool orchestrator_trigger_points_accuracy(const struct trigger_points *points,
                                          double *ret_accuracy);

#endif
