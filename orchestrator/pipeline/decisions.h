/* Decisions of trigger policies at their checks, kept with the cursor they were made at: score, threshold, window and
 * counts, so that a person sees why a trigger fired or did not. The newest DECISIONS_KEPT of a pipeline stay, and all
 * that fired. */
#ifndef ORCHESTRATOR_PIPELINE_DECISIONS_H
#define ORCHESTRATOR_PIPELINE_DECISIONS_H

#include "orchestrator/pipeline/reader.h"
#include "orchestrator/runs/run.h"

enum { DECISIONS_KEPT = 1000 };

/* Inside a transaction. Completes `decision` by where it was made; `trigger` is the one that ended there,
 * 0: none, which is reported at once. */
enum weir_status orchestrator_pipeline_decision_add(struct pipeline *pipeline, json_t *decision,
                                                    int64_t trigger,
                                                    struct weir_error *err) WEIR_MUST_USE;
/* Commits a check that fires nothing, or rows passed: cursor, the policy's state, the reader's decision. */
enum weir_status orchestrator_pipeline_commit_passed(struct pipeline *pipeline,
                                                     struct weir_error *err) WEIR_MUST_USE;

/* Inside a transaction. The policy learns the cost of the newest trigger's training. */
enum weir_status orchestrator_pipeline_tell_trained(struct pipeline *pipeline,
                                                    const struct run_result *run,
                                                    struct weir_error *err) WEIR_MUST_USE;

/* The policy says that a check is due. What needs no measurement is decided on a thread, and every other check that is
 * due here; `next` is called from the loop when all of that is committed and nothing has fired: reading goes on. */
void orchestrator_pipeline_check(struct pipeline *pipeline, pipeline_next_fn *next);
/* The policy of pipeline->reader decides, on a thread, by what `run` has measured of pipeline->reader->probe, and the
 * edge that follows is taken; then the files of the run are removed. */
void orchestrator_pipeline_decide(struct pipeline *pipeline, const struct run_result *run);

#endif
