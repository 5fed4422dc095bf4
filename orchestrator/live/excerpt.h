/* Excerpts of topics' answers: what of them the live page shows. Only members that are listed here get there, so that
 * no words of people do: neither the reference of an erasure nor the text of an error, which may quote a record.
 * Lists are cut at their bounds. Pure. */
#ifndef ORCHESTRATOR_LIVE_EXCERPT_H
#define ORCHESTRATOR_LIVE_EXCERPT_H

#include <jansson.h>

enum {
    LIVE_ROWS_MAX = 200,    /* of pipelines, workers and erasures in tables */
    LIVE_TRIGGERS_MAX = 60, /* of a pipeline: the newest */
    LIVE_CELLS_MAX = 3000,  /* evaluations of a pipeline: those of the newest triggers */
};

/* Returns a new reference. */
typedef json_t *live_excerpt_fn(const json_t *answer);
live_excerpt_fn orchestrator_live_status, orchestrator_live_workers, orchestrator_live_erasures,
    orchestrator_live_report, orchestrator_live_models, orchestrator_live_plan,
    orchestrator_live_event;

/* Takes out of the excerpt of a status what is the whole platform's. */
void orchestrator_live_status_of_tenant(json_t *status);

#endif
