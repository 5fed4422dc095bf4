/* A beat of a worker of a pool that has one job alone. */
#ifndef WEIR_TESTS_SUPPORT_LEASE_JOB_H
#define WEIR_TESTS_SUPPORT_LEASE_JOB_H

#include "preprocess/dispatcher/leasing.h"

static inline void lease_job(struct dispatcher_job *job, const struct dispatcher_visit *visit,
                             uint32_t want, int64_t now_ms)
{
    struct shares shares = {0};
    struct leasing_job jobs[1];
    struct leasing leasing = {
        .shares = &shares, .visit = *visit, .now_ms = now_ms, .want = want, .jobs = jobs};
    leasing.visit.lease_ms = DISPATCHER_LEASE_MS;
    preprocess_leasing_visit(
        &leasing, job,
        preprocess_shares_join(&shares, &(struct shares_quota){.pipeline = 1, .share = 1}), true);
    preprocess_leasing_give(&leasing);
    preprocess_shares_fini(&shares);
}

#endif
