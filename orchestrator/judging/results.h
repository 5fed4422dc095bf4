/* The numbers of one evaluation: computed from what the trainer said of each sample, and kept. */
#ifndef ORCHESTRATOR_JUDGING_RESULTS_H
#define ORCHESTRATOR_JUDGING_RESULTS_H

#include "orchestrator/judging/evaluator.h"
#include "orchestrator/runs/run.h"

struct evaluation_result {
    const struct pipeline_outline *pipeline;
    const struct evaluation_task *task;
    const struct run_result *run;
};

/* Commits the metrics with their events. May be repeated. */
enum weir_status orchestrator_evaluation_keep(struct context *context,
                                              const struct evaluation_result *result,
                                              struct weir_error *err) WEIR_MUST_USE;

#endif
