/* Production for several jobs (C20): whose batches are the same, and who of them takes from the others. */
#ifndef WEIR_PREPROCESS_WORKER_SHARING_H
#define WEIR_PREPROCESS_WORKER_SHARING_H

#include "preprocess/worker/state.h"

/* The jobs that a batch is made for: those that share its cost. */
struct sharing {
    struct worker_job *jobs[WORKER_JOBS_MAX]; /* the first is the lease's own */
    size_t count;
};

/* Finds the jobs that need this batch of `bytes`, of the lease's production, and can have it. */
void preprocess_sharing_find(struct worker *worker, const struct worker_lease *lease,
                             struct worker_job *own, uint64_t batch, uint64_t bytes,
                             struct sharing *ret_sharing);
/* Charges them with what one of them would have paid alone. */
void preprocess_sharing_charge(const struct sharing *sharing, int64_t cpu_ns);
/* Puts a finished batch where the others find it, if there are any. */
void preprocess_sharing_give(struct worker *worker, const struct worker_lease *lease,
                             const struct sharing *sharing, uint64_t number,
                             struct worker_batch *batch);
/* Returns a batch that was made for another job; NULL: it is to be made. */
struct worker_batch *preprocess_sharing_take(const struct worker *worker,
                                             const struct worker_lease *lease, uint64_t number);
/* Returns the oldest lease on the same work whose samples are located, or being located; NULL: there is none. */
struct worker_lease *preprocess_sharing_donor(struct worker *worker,
                                              const struct worker_lease *lease);
/* Begins a lease that another one locates samples for, or whose batches are all there. True when there is nothing to
 * locate for it now. */
bool preprocess_sharing_begin(struct worker *worker, const struct worker_lease *lease,
                              const struct worker_job *job);
/* Returns memory for a batch of the production, which its consumers map: that of a batch which no job needs, if it can
 * be. NULL: there is none. */
struct weir_published *preprocess_sharing_memory(struct worker *worker, uint64_t production,
                                                 size_t size) WEIR_MUST_USE;
/* Drops the batches that no job needs, now and then. */
void preprocess_sharing_sweep(struct worker *worker, int64_t now_ms);

#endif
