/* The time that a worker spends on each job, by the clock: in which it makes batches of the job, or waits for what they
 * are made of. Time in which it waits for credit or for leases is nobody's; time that serves several jobs of a
 * production is theirs in equal parts. So the jobs' times never add up to more than has passed. */
#ifndef WEIR_PREPROCESS_WORKER_BUSY_H
#define WEIR_PREPROCESS_WORKER_BUSY_H

#include "preprocess/worker/sharing.h"

/* Charges those that the worker was busy with so far; from now on it is busy with these jobs. */
void preprocess_worker_busy_with(struct worker *worker, const struct sharing *jobs);
/* From now on it is busy with the jobs that have this lease's work; NULL: with none. */
void preprocess_worker_busy_on(struct worker *worker, const struct worker_lease *lease);
/* Charges them, and goes on. */
void preprocess_worker_busy_look(struct worker *worker);

#endif
