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

void preprocess_job_init(struct dispatcher_job *job, const struct dispatcher_about *about,
                         struct dispatcher_fences *fences)
{
    weir_require(about->geometry.ranks > 0 &&
                 about->geometry.ranks <= WEIR_RANKS_MAX); /* preprocess_plan_open() */
    *job = (struct dispatcher_job){
        .about = *about,
        .fences = fences,
        .fitting = about->fit,
        .open_fence = fences->newest + 1,
        .ranks = weir_calloc(about->geometry.ranks, sizeof(struct dispatcher_rank_state)),
    };
    for (uint32_t i = 0; i < ranks_of(job); i++)
        preprocess_rank_init(&job->ranks[i], &about->geometry, job->fitting);
}

/* Nobody has been heard of yet in this incarnation. */
static void wait_for_consumers(struct dispatcher_job *job)
{
    for (uint32_t i = 0; i < ranks_of(job); i++)
        preprocess_rank_begin(&job->ranks[i], &job->record.seats[i].committed, false);
}

void preprocess_job_restore(struct dispatcher_job *job, const struct dispatcher_record *record,
                            bool is_fitted)
{
    preprocess_record_copy(&job->record, record);
    if (job->about.fit && !is_fitted)
        return;
    preprocess_job_fitted(job);
}

void preprocess_job_fini(struct dispatcher_job *job)
{
    preprocess_record_fini(&job->record);
    for (uint32_t i = 0; i < ranks_of(job); i++)
        preprocess_rank_fini(&job->ranks[i]);
    free(job->ranks);
    job->ranks = NULL;
    job->about.geometry.ranks = 0;
}

bool preprocess_job_is_running(const struct dispatcher_job *job)
{
    for (uint32_t i = 0; i < ranks_of(job); i++) {
        if (job->record.seats[i].session == 0)
            return false;
    }
    return true;
}

/* ---- workers ---- */

/* Lanes that may lease: fits go through the first alone. */
static uint32_t ranks_in_use(const struct dispatcher_job *job)
{
    if (job->fitting)
        return 1;
    return preprocess_job_is_running(job) && !job->record.final ? ranks_of(job) : 0;
}

static void lease(struct dispatcher_job *job, struct dispatcher_rank_state *rank, uint64_t group,
                  const struct dispatcher_visit *visit, int64_t now_ms)
{
    preprocess_rank_lease(rank, group, visit, ++job->fences->newest, now_ms);
    if (job->production == NULL)
        return;
    struct production_maker maker = {.group = group,
                                     .rank = (uint32_t)(rank - job->ranks),
                                     .worker = visit->worker,
                                     .session = visit->session,
                                     .leased_ms = now_ms};
    preprocess_production_note(job->production, &maker);
}

/* The groups of a rank that the visitor may be given (rule 10). */
struct its_choice {
    struct dispatcher_choice choice;
    const struct production *production;
    uint32_t rank;
    const struct dispatcher_visit *visit;
    int64_t now_ms;
};

static bool may_have(const struct dispatcher_choice *choice, uint64_t group)
{
    const struct its_choice *its = (const void *)choice;
    const struct dispatcher_visit *visit = its->visit;
    const struct production_maker *maker =
        preprocess_production_maker(its->production, its->rank, group, its->now_ms);
    if (maker != NULL && maker->worker == visit->worker && maker->session == visit->session)
        return true;
    if (maker == NULL || visit->only_own)
        return !visit->only_own;
    return visit->waits_for == NULL || !visit->waits_for(visit->owner, maker);
}

static struct its_choice choice_of(const struct dispatcher_job *job, uint32_t rank,
                                   const struct dispatcher_visit *visit, int64_t now_ms)
{
    return (struct its_choice){
        .choice = {.has = may_have},
        .production = job->fitting ? NULL : job->production,
        .rank = rank,
        .visit = visit,
        .now_ms = now_ms,
    };
}

/* The lowest open group of a rank among those that the visitor makes for others. */
static uint64_t lowest_own(const struct dispatcher_rank_state *rank, const struct its_choice *its)
{
    const struct production_maker like = {
        .rank = its->rank, .worker = its->visit->worker, .session = its->visit->session};
    const struct production_maker *own = NULL;
    uint64_t lowest = DISPATCHER_NO_GROUP;
    while ((own = preprocess_production_own(its->production, own, &like, its->now_ms)) != NULL) {
        if (own->group < lowest && preprocess_rank_is_open(rank, own->group))
            lowest = own->group;
    }
    return lowest;
}

uint32_t preprocess_job_visit(struct dispatcher_job *job, const struct dispatcher_visit *visit,
                              int64_t now_ms, uint32_t *ret_unlisted)
{
    uint32_t listed = 0;
    for (uint32_t i = 0; i < ranks_of(job); i++)
        listed += preprocess_rank_visit(&job->ranks[i], visit, now_ms);
    struct dispatcher_lease leases[DISPATCHER_LEASES_MAX];
    uint32_t has = (uint32_t)preprocess_job_leases(job, visit->worker, visit->session, leases);
    *ret_unlisted = has > listed ? has - listed : 0;
    return has;
}

uint32_t preprocess_job_grant_lowest(struct dispatcher_job *job,
                                     const struct dispatcher_visit *visit, uint32_t has,
                                     int64_t now_ms)
{
    uint32_t given = 0;
    for (uint32_t i = 0; i < ranks_in_use(job) && has + given < DISPATCHER_LEASES_MAX; i++) {
        struct dispatcher_rank_state *rank = &job->ranks[i];
        uint64_t lowest = preprocess_rank_lacking(rank);
        struct its_choice its = choice_of(job, i, visit, now_ms);
        if (lowest == DISPATCHER_NO_GROUP || !preprocess_rank_listens(rank, now_ms) ||
            preprocess_rank_group(rank, lowest)->state != DISPATCHER_GROUP_OPEN ||
            !may_have(&its.choice, lowest))
            continue;
        lease(job, rank, lowest, visit, now_ms);
        given++;
    }
    return given;
}

/* Leases the lowest open group over all ranks, so that no rank runs ahead of the others. */
bool preprocess_job_grant(struct dispatcher_job *job, const struct dispatcher_visit *visit,
                          uint32_t has, int64_t now_ms)
{
    struct dispatcher_rank_state *best = NULL;
    uint64_t lowest = DISPATCHER_NO_GROUP;
    for (uint32_t i = 0; i < ranks_in_use(job) && has < DISPATCHER_LEASES_MAX; i++) {
        struct dispatcher_rank_state *rank = &job->ranks[i];
        if (!preprocess_rank_listens(rank, now_ms))
            continue;
        struct its_choice its = choice_of(job, i, visit, now_ms);
        uint64_t group =
            visit->only_own ? lowest_own(rank, &its) : preprocess_rank_open(rank, &its.choice);
        if (group < lowest) {
            lowest = group;
            best = rank;
        }
    }
    if (best != NULL)
        lease(job, best, lowest, visit, now_ms);
    return best != NULL;
}

void preprocess_job_worker_leave(struct dispatcher_job *job, uint32_t worker, uint64_t session)
{
    for (uint32_t i = 0; i < ranks_of(job); i++)
        preprocess_rank_leave(&job->ranks[i], worker, session);
}

bool preprocess_job_holds(const struct dispatcher_job *job, uint32_t worker, uint64_t session,
                          int64_t now_ms)
{
    for (uint32_t i = 0; i < ranks_of(job); i++) {
        if (preprocess_rank_holds(&job->ranks[i], worker, session, now_ms))
            return true;
    }
    return false;
}

bool preprocess_job_lags(struct dispatcher_job *job, uint64_t fence)
{
    for (uint32_t i = 0; i < ranks_of(job); i++) {
        struct dispatcher_rank_state *rank = &job->ranks[i];
        uint64_t lowest = preprocess_rank_lacking(rank);
        const struct dispatcher_group *group =
            lowest == DISPATCHER_NO_GROUP ? NULL : preprocess_rank_group(rank, lowest);
        bool is_under_way = group != NULL && (group->state == DISPATCHER_GROUP_LEASED ||
                                              group->state == DISPATCHER_GROUP_SENT);
        if (is_under_way && group->fence <= fence)
            return true;
    }
    return false;
}

size_t preprocess_job_leases(const struct dispatcher_job *job, uint32_t worker, uint64_t session,
                             struct dispatcher_lease leases[DISPATCHER_LEASES_MAX])
{
    const struct dispatcher_group *groups[DISPATCHER_LEASES_MAX];
    size_t count = 0;
    for (uint32_t rank = 0; rank < ranks_of(job); rank++) {
        size_t its = preprocess_rank_leases(&job->ranks[rank], worker, session, groups,
                                            DISPATCHER_LEASES_MAX - count);
        for (size_t i = 0; i < its; i++)
            leases[count++] = (struct dispatcher_lease){
                .rank = rank, .group = groups[i]->number, .fence = groups[i]->fence};
    }
    return count;
}

/* ---- fitting ---- */

bool preprocess_job_fit(struct dispatcher_job *job, uint64_t group, uint64_t bytes)
{
    struct dispatcher_rank_state *rank = &job->ranks[0];
    if (!job->fitting || !preprocess_rank_has(rank, group) ||
        preprocess_rank_group(rank, group)->state == DISPATCHER_GROUP_FITTED)
        return false;
    preprocess_rank_fitted(rank, group, bytes);
    return true;
}

bool preprocess_job_fit_take(struct dispatcher_job *job, uint64_t *ret_group)
{
    struct dispatcher_rank_state *rank = &job->ranks[0];
    if (!job->fitting || rank->first_group >= preprocess_rank_end(rank) ||
        preprocess_rank_group(rank, rank->first_group)->state != DISPATCHER_GROUP_FITTED)
        return false;
    *ret_group = rank->first_group;
    preprocess_rank_slide(rank, rank->first_group + 1);
    return true;
}

bool preprocess_job_fit_complete(const struct dispatcher_job *job)
{
    const struct dispatcher_rank_state *rank = &job->ranks[0];
    return job->fitting && rank->first_group >= preprocess_rank_end(rank);
}

void preprocess_job_fitted(struct dispatcher_job *job)
{
    job->fitting = false;
    for (uint32_t i = 0; i < ranks_of(job); i++)
        job->ranks[i].fitting = false;
    wait_for_consumers(job);
}
