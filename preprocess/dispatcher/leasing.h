/* Leases for a worker that beats, of the jobs that it serves. Pure: the state machine of each job
 * chooses the group (job.h), and shares.h the job. */
#ifndef WEIR_PREPROCESS_DISPATCHER_LEASING_H
#define WEIR_PREPROCESS_DISPATCHER_LEASING_H

#include "preprocess/dispatcher/job.h"
#include "preprocess/dispatcher/pool.h"
#include "preprocess/dispatcher/shares.h"

/* A job that the worker serves. */
struct leasing_job {
    struct dispatcher_job *job;
    struct shares_account *account; /* of its pipeline */
    uint32_t has;                   /* leases of it, at the worker */
    bool is_open;
    bool may_have_more;
};

/* A worker's beat. */
struct leasing {
    struct shares *shares;
    /* the worker's pool; NULL: no other worker is waited for (job.h, rule 10) */
    const struct pool *pool;
    struct dispatcher_visit visit; /* of each job in turn; lease_ms is > 0 */
    int64_t now_ms;
    uint32_t want;            /* leases in addition to those it has */
    struct leasing_job *jobs; /* the caller's, with room for all of them */
    size_t count;
};

/* Adds a job, and renews what `visit` says the worker holds of it. Leases that it was given before
 * but does not list (the answer was lost) count against `want`. A job that is not `open`, or
 * that the worker is barred from, gets nothing, and keeps what it has. */
void preprocess_leasing_visit(struct leasing *leasing, struct dispatcher_job *job,
                              struct shares_account *account, bool is_open);
/* Once all are visited: gives as many leases as wanted, each of the job that is next in line; and to the other jobs of
 * its production the same group, which the worker has to make once. To a worker that drains, none. */
void preprocess_leasing_give(struct leasing *leasing);

#endif
