/* Jobs as a worker knows them. */
#ifndef WEIR_PREPROCESS_WORKER_JOBS_H
#define WEIR_PREPROCESS_WORKER_JOBS_H

#include "preprocess/worker/state.h"

/* Finds the job of a lease, or asks for its description. NULL: not there yet. */
struct worker_job *preprocess_worker_job_for(struct worker *worker,
                                             const struct worker_lease *lease);
/* Asks for the description of a job that will have leases, so that it is planned by then. */
void preprocess_worker_job_expect(struct worker *worker, uint64_t number);
/* Returns the slot of a job, or one that it takes from a job that is no longer worked on; NULL: every job is. */
struct worker_job *preprocess_worker_job_slot(struct worker *worker, uint64_t number);
/* Notes that a consumer of the job has come. */
void preprocess_worker_job_met(struct worker *worker, uint64_t number);
/* Has jobs described that waited for their set; `owner` is the worker. */
void preprocess_worker_jobs_go_on(void *owner);
/* Takes in which jobs have operators that run in another order by now. */
void preprocess_worker_jobs_planned(struct worker *worker, const struct msg_worker_orders *orders);
/* Returns the cost of an operator of an open job in this session. */
struct worker_spent preprocess_worker_job_spent(const struct worker_job *job, size_t operator);
void preprocess_worker_jobs_expire(struct worker *worker, int64_t now_ms);
void preprocess_worker_jobs_close(struct worker *worker);
/* Closes all, and forgets why samples failed: that may name a person, or a file that does. */
void preprocess_worker_jobs_wipe(struct worker *worker);

#endif
