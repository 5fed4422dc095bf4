/* The outputs of a run (core/wire/outputs.h), as metrics read them. */
#ifndef ORCHESTRATOR_METRICS_GIVEN_H
#define ORCHESTRATOR_METRICS_GIVEN_H

#include "core/wire/outputs.h"
#include "orchestrator/metrics/metric.h"

struct metric_given {
    struct metric_input input; /* borrows from the outputs, too */
    int64_t *labels;
    double *numbers;
};

/* `outputs` must outlive it. A label that is a number with a fraction has no class: INT64_MIN. */
void orchestrator_metric_given_open(const struct weir_outputs *outputs,
                                    struct metric_given *ret_given);
void orchestrator_metric_given_close(struct metric_given *given);

#endif
