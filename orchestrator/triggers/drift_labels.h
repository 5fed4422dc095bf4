/* The labels of two windows as statistics of drift take them. Pure; part of policy drift. */
#ifndef ORCHESTRATOR_TRIGGERS_DRIFT_LABELS_H
#define ORCHESTRATOR_TRIGGERS_DRIFT_LABELS_H

#include "orchestrator/drift/statistic.h"
#include "orchestrator/triggers/window.h"

enum drift_labels_kind { LABELS_CLASSES, LABELS_INTEGERS, LABELS_REALS };

/* The memory of an input. */
struct drift_labels {
    int64_t *classes[2];
    float *numbers[2];
};

/* Returns the input, without a seed; it borrows from `labels`, which is to be released. */
struct drift_input orchestrator_drift_labels_open(struct drift_labels *labels,
                                                  enum drift_labels_kind kind,
                                                  const struct window *reference,
                                                  const struct window *current);
void orchestrator_drift_labels_fini(struct drift_labels *labels);

#endif
