/* Evaluations: models measured on intervals of event time. A list of tasks is worked off one after
 * the other: the interval is sealed, a trainer runs over it in mode evaluate, metrics are computed
 * from what it says, the numbers are kept and what it said of each sample is removed. A task that
 * is done already is passed over; so is one without samples, which is told. */
#ifndef ORCHESTRATOR_JUDGING_EVALUATOR_H
#define ORCHESTRATOR_JUDGING_EVALUATOR_H

#include "orchestrator/judging/results.h"

#include <sys/queue.h>

enum { EVALUATION_TASKS_MAX = 200000 };

struct evaluation_tasks {
    struct evaluation_task *at;
    size_t count, capacity;
};

/* Not beyond EVALUATION_TASKS_MAX. */
void orchestrator_evaluation_tasks_add(struct evaluation_tasks *tasks, const char *model,
                                       size_t evaluation, int64_t from_time, int64_t to_time);
void orchestrator_evaluation_tasks_fini(struct evaluation_tasks *tasks);

struct evaluator;

/* Owned by: struct orchestrator. */
struct evaluators {
    struct context *context;
    struct runs *runs;
    LIST_HEAD(, evaluator) all;
};

/* NULL: all are done. */
typedef void evaluator_done_fn(void *owner, const struct weir_error *err);
/* Takes the tasks over (zeroing what it is given). `done` is called from the loop. An owner whose earlier tasks are
 * not through yet has these worked off after them, and is reported once. */
void orchestrator_evaluator_start(struct evaluators *evaluators, struct pipeline_outline pipeline,
                                  struct evaluation_tasks *tasks, evaluator_done_fn *done,
                                  void *owner);
/* Returns true while tasks of `owner` are not through. */
bool orchestrator_evaluator_busy(const struct evaluators *evaluators, const void *owner);
/* Drops the tasks of an owner that is gone. */
void orchestrator_evaluator_forget(struct evaluators *evaluators, const void *owner);

#endif
