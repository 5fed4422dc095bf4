/* The numbers of one evaluation: computed from what the trainer said of each sample, on a thread of
 * their own, and kept. */
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
    const struct run_result *run; /* NULL: there were no samples */
};

/* Returns the dataset that an evaluation measures on; of one that names none, the first. */
const char *orchestrator_evaluation_dataset(const struct orchestrator_config *config, size_t index);

struct measuring;

/* NULL: the metrics are committed, with their events. */
typedef void measuring_done_fn(void *owner, const struct weir_error *err);
/* Looks at what it is given during the call only, but for the pipeline's file. `done` is called once from the loop, and
 * the measuring is gone then. May be repeated. */
struct measuring *orchestrator_measuring_start(struct context *context,
                                               const struct evaluation_result *result,
                                               measuring_done_fn *done, void *owner);
/* Gives it up; `done` is not called, and its files may be read a while longer. NULL is fine. */
void orchestrator_measuring_abandon(struct measuring *measuring);

#endif
