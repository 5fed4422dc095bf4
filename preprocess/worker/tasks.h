/* Leases that are got ready. */
#ifndef WEIR_PREPROCESS_WORKER_TASKS_H
#define WEIR_PREPROCESS_WORKER_TASKS_H

#include "preprocess/worker/state.h"

/* Gets leases ready: job, locations of samples, and those that only storage can read. */
void preprocess_worker_prepare(struct worker *worker);
struct worker_task *preprocess_worker_task_of(struct worker *worker,
                                              const struct worker_lease *lease);
/* Has storage read the samples of this batch that lie in files that cannot be read from here. */
void preprocess_worker_fetch(struct worker *worker, struct worker_task *task, uint64_t batch);
/* Locates its samples again: their locations are out of date. */
void preprocess_worker_locate_again(struct worker *worker, struct worker_task *task);
/* Drops what storage read, of every lease. */
void preprocess_worker_tasks_drop_fetched(struct worker *worker);
/* Releases memory that is kept for leases to come. */
void preprocess_worker_tasks_wipe(struct worker *worker);
void preprocess_worker_tasks_close(struct worker *worker);

#endif
