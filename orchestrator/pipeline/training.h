/* Training of a pipeline, for its own states and for an erasure that trains one of its triggers again. */
#ifndef ORCHESTRATOR_PIPELINE_TRAINING_H
#define ORCHESTRATOR_PIPELINE_TRAINING_H

#include "orchestrator/pipeline/pipeline.h"
#include "orchestrator/runs/run.h"

#include <jansson.h>

/* Inside a transaction: makes that run on the set that was sealed; of a training without rounds. */
enum weir_status orchestrator_pipeline_add_run(const struct pipeline *pipeline,
                                               const struct msg_selected *selected,
                                               struct weir_error *err) WEIR_MUST_USE;
/* Sees the run of the newest trigger through; at once when it is done already. */
enum weir_status orchestrator_pipeline_run_newest(struct pipeline *pipeline, run_done_fn *done,
                                                  struct weir_error *err) WEIR_MUST_USE;
/* Stores what came of a run. */
typedef enum weir_status store_run_fn(struct pipeline *pipeline, const struct run_result *run,
                                      struct weir_error *err);
/* A run has ended, as run_done_fn has it: stores what came of it, or else the pipeline has trouble. */
void orchestrator_pipeline_store_run(struct pipeline *pipeline, const struct run_result *run,
                                     const struct weir_error *err, store_run_fn *store);
/* Nothing was delivered: there is no model to keep. */
bool orchestrator_run_is_hollow(const struct run_result *run);
/* Says what became of the samples of a hollow run, by count; the caller's to free. */
char *orchestrator_run_hollow_reason(const struct run_result *run);
/* The body of training_finished (C11), to be consumed. */
json_t *orchestrator_training_json(const struct pipeline *pipeline, const struct run_result *run);

#endif
