/* The numbers of one evaluation: computed from what the trainer said of each sample, and kept. */
#ifndef ORCHESTRATOR_JUDGING_RESULTS_H
#define ORCHESTRATOR_JUDGING_RESULTS_H

#include "orchestrator/runs/run.h"

struct evaluation_task {
    char model[ORCHESTRATOR_NAME_MAX + 64];
    size_t evaluation; /* index in the pipeline's file */
    int64_t from_time, to_time;
};

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
