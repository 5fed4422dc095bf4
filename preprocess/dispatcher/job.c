/* The dispatcher's side of the delivery protocol for one job, as far as workers see it: see the
 * rules in job.h. Consumers are in attempt.c, the audit is in audit.c. */
#include "preprocess/dispatcher/job.h"

#include "core/base/memory.h"

#include <stdlib.h>

/* ---- life ---- */

static uint32_t ranks_of(const struct dispatcher_job *job)
{
    return job->about.geometry.ranks;
}

void dispatcher_job_init(struct dispatcher_job *job, const struct dispatcher_about *about,
                         struct dispatcher_fences *fences)
{
    weir_require(about->geometry.ranks > 0 &&
                 about->geometry.ranks <= WEIR_RANKS_MAX); /* preprocess_plan_open() */
    *job = (struct dispatcher_job){
        .about = *about,
        .fences = fences,
        .fitting = about->fit,
        .open_fence = fences->newest + 1,
        .lanes = weir_calloc(about->geometry.ranks, sizeof(struct dispatcher_lane)),
    };
    for (uint32_t i = 0; i < ranks_of(job); i++)
        dispatcher_lane_init(&job->lanes[i], &about->geometry, job->fitting);
}

/* Nobody has been heard of yet in this incarnation. */
static void wait_for_consumers(struct dispatcher_job *job)
{
    for (uint32_t i = 0; i < ranks_of(job); i++)
        dispatcher_lane_begin(&job->lanes[i], &job->record.seats[i].committed, false);
}

void dispatcher_job_restore(struct dispatcher_job *job, const struct dispatcher_record *record,
                            bool is_fitted)
{
    dispatcher_record_copy(&job->record, record);
    if (job->about.fit && !is_fitted)
        return;
    dispatcher_job_fitted(job);
}

void dispatcher_job_fini(struct dispatcher_job *job)
{
    dispatcher_record_fini(&job->record);
    for (uint32_t i = 0; i < ranks_of(job); i++)
        dispatcher_lane_fini(&job->lanes[i]);
    free(job->lanes);
    job->lanes = NULL;
    job->about.geometry.ranks = 0;
}

bool dispatcher_job_is_running(const struct dispatcher_job *job)
{
    for (uint32_t i = 0; i < ranks_of(job); i++) {
        if (job->record.seats[i].session == 0)
            return false;
    }
    return true;
}

/* ---- workers ---- */

/* Lanes that may lease: fits go through the first alone. */
static uint32_t lanes_in_use(const struct dispatcher_job *job)
{
    if (job->fitting)
        return 1;
    return dispatcher_job_is_running(job) && !job->record.final ? ranks_of(job) : 0;
}

static void lease(struct dispatcher_job *job, struct dispatcher_lane *lane, uint64_t group,
                  const struct dispatcher_visit *visit, int64_t now_ms)
{
    dispatcher_lane_lease(lane, group, visit, ++job->fences->newest, now_ms);
}

uint32_t dispatcher_job_visit(struct dispatcher_job *job, const struct dispatcher_visit *visit,
                              int64_t now_ms, uint32_t *ret_untold)
{
    uint32_t listed = 0;
    for (uint32_t i = 0; i < ranks_of(job); i++)
        listed += dispatcher_lane_visit(&job->lanes[i], visit, now_ms);
    struct dispatcher_lease leases[DISPATCHER_LEASES_MAX];
    uint32_t has = (uint32_t)dispatcher_job_leases(job, visit->worker, visit->session, leases);
    *ret_untold = has > listed ? has - listed : 0;
    return has;
}

uint32_t dispatcher_job_grant_lowest(struct dispatcher_job *job,
                                     const struct dispatcher_visit *visit, uint32_t has,
                                     int64_t now_ms)
{
    uint32_t given = 0;
    for (uint32_t i = 0; i < lanes_in_use(job) && has + given < DISPATCHER_LEASES_MAX; i++) {
        struct dispatcher_lane *lane = &job->lanes[i];
        uint64_t lowest = dispatcher_lane_lacking(lane);
        if (lowest == DISPATCHER_NO_GROUP || !dispatcher_lane_listens(lane, now_ms) ||
            dispatcher_lane_group(lane, lowest)->state != DISPATCHER_GROUP_OPEN)
            continue;
        lease(job, lane, lowest, visit, now_ms);
        given++;
    }
    return given;
}

/* Of all lanes, so that no rank runs ahead of the others. */
bool dispatcher_job_grant(struct dispatcher_job *job, const struct dispatcher_visit *visit,
                          uint32_t has, int64_t now_ms)
{
    struct dispatcher_lane *best = NULL;
    uint64_t lowest = DISPATCHER_NO_GROUP;
    for (uint32_t i = 0; i < lanes_in_use(job) && has < DISPATCHER_LEASES_MAX; i++) {
        struct dispatcher_lane *lane = &job->lanes[i];
        if (!dispatcher_lane_listens(lane, now_ms))
            continue;
        uint64_t group = dispatcher_lane_open(lane);
        if (group < lowest) {
            lowest = group;
            best = lane;
        }
    }
    if (best != NULL)
        lease(job, best, lowest, visit, now_ms);
    return best != NULL;
}

void dispatcher_job_worker_leave(struct dispatcher_job *job, uint32_t worker, uint64_t session)
{
    for (uint32_t i = 0; i < ranks_of(job); i++)
        dispatcher_lane_leave(&job->lanes[i], worker, session);
}

size_t dispatcher_job_leases(const struct dispatcher_job *job, uint32_t worker, uint64_t session,
                             struct dispatcher_lease leases[DISPATCHER_LEASES_MAX])
{
    const struct dispatcher_group *groups[DISPATCHER_LEASES_MAX];
    size_t count = 0;
    for (uint32_t rank = 0; rank < ranks_of(job); rank++) {
        size_t its = dispatcher_lane_leases(&job->lanes[rank], worker, session, groups,
                                            DISPATCHER_LEASES_MAX - count);
        for (size_t i = 0; i < its; i++)
            leases[count++] = (struct dispatcher_lease){
                .rank = rank, .group = groups[i]->number, .fence = groups[i]->fence};
    }
    return count;
}

/* ---- fitting ---- */

bool dispatcher_job_fit(struct dispatcher_job *job, uint64_t group)
{
    struct dispatcher_lane *lane = &job->lanes[0];
    if (!job->fitting || !dispatcher_lane_has(lane, group) ||
        dispatcher_lane_group(lane, group)->state == DISPATCHER_GROUP_FITTED)
        return false;
    dispatcher_lane_fitted(lane, group);
    return true;
}

bool dispatcher_job_fit_take(struct dispatcher_job *job, uint64_t *ret_group)
{
    struct dispatcher_lane *lane = &job->lanes[0];
    if (!job->fitting || lane->first_group >= dispatcher_lane_end(lane) ||
        dispatcher_lane_group(lane, lane->first_group)->state != DISPATCHER_GROUP_FITTED)
        return false;
    *ret_group = lane->first_group;
    dispatcher_lane_slide(lane, lane->first_group + 1);
    return true;
}

bool dispatcher_job_fit_complete(const struct dispatcher_job *job)
{
    const struct dispatcher_lane *lane = &job->lanes[0];
    return job->fitting && lane->first_group >= dispatcher_lane_end(lane);
}

void dispatcher_job_fitted(struct dispatcher_job *job)
{
    job->fitting = false;
    for (uint32_t i = 0; i < ranks_of(job); i++)
        job->lanes[i].fitting = false;
    wait_for_consumers(job);
}
