/* One round over the jobs of a worker. */
#include "preprocess/dispatcher/leasing.h"

#include "preprocess/dispatcher/barred.h"

/* Leases that a worker gets of one job, unless it wants more at once: its consumer may be taking nothing. */
enum { LEASES_AT_WORK = 4 };

static void want_less(struct leasing *leasing, uint32_t less)
{
    leasing->want -= less < leasing->want ? less : leasing->want;
}

void preprocess_leasing_visit(struct leasing *leasing, struct dispatcher_job *job,
                              struct shares_account *account, bool is_open)
{
    const struct dispatcher_visit *visit = &leasing->visit;
    struct dispatcher_lease leases[DISPATCHER_LEASES_MAX];
    uint32_t untold = 0;
    is_open = is_open &&
              !preprocess_barred_is(job->barred, visit->worker, visit->session, leasing->now_ms);
    uint32_t has =
        is_open ? preprocess_job_visit(job, visit, leasing->now_ms, &untold)
                : (uint32_t)preprocess_job_leases(job, visit->worker, visit->session, leases);
    want_less(leasing, untold);
    leasing->jobs[leasing->count++] = (struct leasing_job){
        .job = job, .account = account, .has = has, .is_open = is_open, .may_have_more = is_open};
}

/* ---- what it has of each pipeline ---- */

static void see(const struct leasing *leasing, struct shares_account *account)
{
    preprocess_shares_see(
        account, &(struct shares_holder){.worker = leasing->visit.worker,
                                         .leases = account->here,
                                         .until_ms = leasing->now_ms + leasing->visit.lease_ms});
}

static void see_all(const struct leasing *leasing)
{
    for (size_t i = 0; i < leasing->count; i++)
        leasing->jobs[i].account->here = 0;
    for (size_t i = 0; i < leasing->count; i++)
        leasing->jobs[i].account->here += leasing->jobs[i].has;
    for (size_t i = 0; i < leasing->count; i++)
        see(leasing, leasing->jobs[i].account);
}

/* ---- giving ---- */

/* NULL: nobody has anything to lease. */
static struct leasing_job *next_in_line(const struct leasing *leasing)
{
    struct leasing_job *next = NULL;
    double place = 0;
    for (size_t i = 0; i < leasing->count; i++) {
        struct leasing_job *one = &leasing->jobs[i];
        double its = preprocess_shares_place(leasing->shares, one->account);
        if (one->may_have_more && (next == NULL || its < place)) {
            next = one;
            place = its;
        }
    }
    return next;
}

/* A job, and the worker that asks for a lease of it. */
struct asking {
    const struct leasing *leasing;
    const struct leasing_job *job;
};

/* The worker that makes a group for others lives, and may work for this job. */
static bool waits_for(const void *owner, const struct production_maker *maker)
{
    const struct asking *asking = owner;
    const struct leasing *leasing = asking->leasing;
    bool is_of_crew = maker->worker / POOL_CREW == leasing->visit.worker / POOL_CREW;
    if (leasing->pool == NULL || !is_of_crew || maker->worker >= leasing->pool->count)
        return false;
    const struct pool_worker *worker = &leasing->pool->worker[maker->worker];
    return worker->session == maker->session && !worker->left && !worker->drains &&
           leasing->now_ms - worker->heard_ms < leasing->visit.lease_ms &&
           !preprocess_barred_is(asking->job->job->barred, maker->worker, maker->session,
                                 leasing->now_ms) &&
           preprocess_shares_admit(asking->job->account, maker->worker, leasing->now_ms);
}

/* Returns how many leases it was given. */
static uint32_t grant(struct leasing *leasing, struct leasing_job *to, uint32_t at_work,
                      bool only_own)
{
    struct asking asking = {leasing, to};
    struct dispatcher_visit visit = leasing->visit;
    visit.only_own = only_own;
    visit.waits_for = waits_for;
    visit.owner = &asking;
    if (!preprocess_shares_admit(to->account, visit.worker, leasing->now_ms))
        return 0;
    if (to->has < at_work)
        return preprocess_job_grant(to->job, &visit, to->has, leasing->now_ms);
    if (!only_own)
        to->may_have_more = false;
    return preprocess_job_grant_lowest(to->job, &visit, to->has, leasing->now_ms);
}

static uint32_t give(struct leasing *leasing, struct leasing_job *to, uint32_t at_work,
                     bool only_own)
{
    uint32_t given = grant(leasing, to, at_work, only_own);
    if (given == 0)
        return 0;
    preprocess_shares_take(leasing->shares, to->account);
    to->has += given;
    to->account->here += given;
    see(leasing, to->account);
    return given;
}

static uint32_t all_it_has(const struct leasing *leasing)
{
    uint32_t has = 0;
    for (size_t i = 0; i < leasing->count; i++)
        has += leasing->jobs[i].has;
    return has;
}

/* Gives the jobs of a production (NULL: of each) what the worker makes for others of it, whatever it wants: that costs
 * it nothing. */
static void give_own(struct leasing *leasing, const struct production *production)
{
    for (size_t i = 0; i < leasing->count; i++) {
        struct leasing_job *one = &leasing->jobs[i];
        const struct production *its = one->job->production;
        if (!one->is_open || its == NULL || its->jobs < 2 ||
            (production != NULL && its != production))
            continue;
        while (all_it_has(leasing) < DISPATCHER_LEASES_MAX &&
               give(leasing, one, LEASES_AT_WORK, true) > 0) {
        }
    }
}

void preprocess_leasing_give(struct leasing *leasing)
{
    struct leasing_job *next;
    uint32_t at_work = leasing->want > LEASES_AT_WORK ? leasing->want : LEASES_AT_WORK;
    see_all(leasing);
    if (leasing->visit.drains)
        return;
    give_own(leasing, NULL);
    while (leasing->want > 0 && (next = next_in_line(leasing)) != NULL) {
        uint32_t given = give(leasing, next, at_work, false);
        next->may_have_more = next->may_have_more && given > 0;
        want_less(leasing, given);
        if (given > 0 && next->job->production != NULL)
            give_own(leasing, next->job->production);
    }
}
