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

/* The policy says that a check is due. What needs no measurement is decided at once, and every other check that is due
 * here: false when that was not committed, or a trigger has fired; true: reading goes on. */
bool orchestrator_pipeline_check(struct pipeline *pipeline);
/* The policy of pipeline->reader decides by what was measured; `run`: what measured it, or NULL. The edge that follows
 * is taken. True: it is committed. */
bool orchestrator_pipeline_decide(struct pipeline *pipeline,
                                  const struct trigger_measured *measured,
                                  const struct run_result *run);

#endif
