/* The findings of a check of drift, for people and programs. Pure; part of policy drift. */
#ifndef ORCHESTRATOR_TRIGGERS_DRIFT_TOLD_H
#define ORCHESTRATOR_TRIGGERS_DRIFT_TOLD_H

#include "core/wire/values.h"
#include "orchestrator/drift/judge.h"

#include <jansson.h>

enum {
    DRIFT_MOVED_TOLD = 5,  /* features in a sentence */
    DRIFT_MOVED_MAX = 512, /* in a decision */
};

/* Adds distances, limits and votes to the decision. */
void orchestrator_drift_tell(const struct drift_judge *judge, const struct drift_findings *findings,
                             json_t *decision);
/* Adds the features that have moved, farthest first, to the decision, and the first of them to the sentence `text`:
 * `; farthest by ks: fields[1] "temp" 0.83 (mean 12.1 -> 19.4), …`. `names` as in struct trigger_points; NULL: they are
 * numbers of `on`. */
void orchestrator_drift_tell_moved(const struct drift_judge *judge, const struct drift_input *input,
                                   const char *names, const char *on, json_t *decision,
                                   struct weir_buf *text);
/* The same of classes, by how much their share has changed: `; farthest by share: cat 10 % -> 40 %, …`. `names` are
 * those of the first classes; of others it tells the number. */
void orchestrator_drift_tell_classes(const struct drift_input *input, const struct weir_strs *names,
                                     json_t *decision, struct weir_buf *text);

#endif
