/* One round over the jobs of a worker. */
#include "preprocess/dispatcher/leasing.h"

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
    uint32_t has =
        is_open ? preprocess_job_visit(job, visit, leasing->now_ms, &untold)
                : (uint32_t)preprocess_job_leases(job, visit->worker, visit->session, leases);
    want_less(leasing, untold);
    leasing->jobs[leasing->count++] =
        (struct leasing_job){.job = job, .account = account, .has = has, .may_have_more = is_open};
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

/* Returns how many leases it was given. */
static uint32_t give(struct leasing *leasing, struct leasing_job *to, uint32_t at_work)
{
    if (!preprocess_shares_admit(to->account, leasing->visit.worker, leasing->now_ms))
        return 0;
    if (to->has < at_work)
        return preprocess_job_grant(to->job, &leasing->visit, to->has, leasing->now_ms);
    to->may_have_more = false;
    return preprocess_job_grant_lowest(to->job, &leasing->visit, to->has, leasing->now_ms);
}

void preprocess_leasing_give(struct leasing *leasing)
{
    struct leasing_job *next;
    uint32_t at_work = leasing->want > LEASES_AT_WORK ? leasing->want : LEASES_AT_WORK;
    see_all(leasing);
    while (leasing->want > 0 && (next = next_in_line(leasing)) != NULL) {
        uint32_t given = give(leasing, next, at_work);
        next->may_have_more = next->may_have_more && given > 0;
        if (given == 0)
            continue;
        preprocess_shares_take(leasing->shares, next->account);
        next->has += given;
        next->account->here += given;
        see(leasing, next->account);
        want_less(leasing, given);
    }
}
