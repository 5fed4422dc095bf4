/* Worker time and leases of each pipeline. */
#include "preprocess/dispatcher/shares.h"

#include "core/base/memory.h"
#include "core/base/number.h"

#include <stdlib.h>

enum {
    FIRST_NS = 10000000, /* a lease of a pipeline of which none is over yet */
    MEAN_LEASES = 16,    /* ended, that a mean is taken over */
};

void preprocess_shares_fini(struct shares *shares)
{
    for (size_t i = 0; i < shares->count; i++) {
        free(shares->accounts[i]->holders);
        free(shares->accounts[i]);
    }
    free(shares->accounts);
    *shares = (struct shares){0};
}

/* ---- who shares ---- */

bool preprocess_shares_quota_equal(const struct shares_quota *a, const struct shares_quota *b)
{
    return a->pipeline == b->pipeline && !(a->share < b->share) && !(a->share > b->share) &&
           a->workers == b->workers;
}

static size_t index_of(const struct shares *shares, uint64_t pipeline)
{
    size_t at = 0;
    while (at < shares->count && shares->accounts[at]->quota.pipeline != pipeline)
        at++;
    return at;
}

struct shares_account *preprocess_shares_join(struct shares *shares,
                                              const struct shares_quota *quota)
{
    size_t at = index_of(shares, quota->pipeline);
    if (at == shares->count) {
        shares->accounts = weir_grow(shares->accounts, shares->count, &shares->capacity,
                                     sizeof(*shares->accounts));
        struct shares_account *added = weir_calloc(1, sizeof(*added));
        added->had = shares->now;
        added->mean_ns = FIRST_NS;
        shares->accounts[shares->count++] = added;
    }
    shares->accounts[at]->quota = *quota;
    shares->accounts[at]->jobs++;
    return shares->accounts[at];
}

void preprocess_shares_leave(struct shares *shares, struct shares_account *account)
{
    if (--account->jobs > 0)
        return;
    shares->accounts[index_of(shares, account->quota.pipeline)] = shares->accounts[--shares->count];
    free(account->holders);
    free(account);
}

/* ---- what they have ---- */

/* Rule 3. */
static void charge(const struct shares *shares, struct shares_account *account, int64_t cpu_ns)
{
    double latest = shares->now + (double)SHARES_AHEAD_NS / account->quota.share;
    double had = account->had + (double)cpu_ns / account->quota.share;
    if (account->had < latest)
        account->had = had < latest ? had : latest;
}

static void take_mean(struct shares_account *account)
{
    double newest_ns = (double)account->reported_ns / (double)account->ended;
    if (newest_ns > (double)SHARES_AHEAD_NS)
        newest_ns = (double)SHARES_AHEAD_NS;
    account->mean_ns = (account->mean_ns + newest_ns) / 2;
    account->reported_ns = 0;
    account->ended = 0;
}

void preprocess_shares_spend(const struct shares *shares, struct shares_account *account,
                             int64_t cpu_ns)
{
    if (cpu_ns <= 0)
        return;
    account->cpu_ns = weir_plus(account->cpu_ns, cpu_ns);
    account->reported_ns = weir_plus(account->reported_ns, cpu_ns);
    charge(shares, account, cpu_ns);
    if (account->ended >= MEAN_LEASES)
        take_mean(account);
}

static size_t holder_at(const struct shares_account *account, uint32_t worker)
{
    size_t at = 0;
    while (at < account->holder_count && account->holders[at].worker != worker)
        at++;
    return at;
}

static void set_leases(struct shares_account *account, size_t at, uint32_t leases)
{
    uint32_t had = account->holders[at].leases;
    account->ended += leases < had ? had - leases : 0;
    account->out += leases - had;
    account->holders[at].leases = leases;
    if (leases == 0)
        account->holders[at] = account->holders[--account->holder_count];
}

void preprocess_shares_see(struct shares_account *account, const struct shares_holder *seen)
{
    size_t at = holder_at(account, seen->worker);
    if (at == account->holder_count && seen->leases == 0)
        return;
    if (at == account->holder_count) {
        account->holders =
            weir_grow(account->holders, at, &account->holder_capacity, sizeof(*account->holders));
        account->holders[account->holder_count++] = (struct shares_holder){.worker = seen->worker};
    }
    account->holders[at].until_ms = seen->until_ms;
    set_leases(account, at, seen->leases);
}

void preprocess_shares_drop(struct shares *shares, uint32_t worker)
{
    for (size_t i = 0; i < shares->count; i++)
        preprocess_shares_see(shares->accounts[i], &(struct shares_holder){.worker = worker});
}

bool preprocess_shares_admit(struct shares_account *account, uint32_t worker, int64_t now_ms)
{
    for (size_t i = account->holder_count; i-- > 0;) {
        if (account->holders[i].until_ms <= now_ms)
            set_leases(account, i, 0);
    }
    return account->quota.workers == 0 || account->holder_count < account->quota.workers ||
           holder_at(account, worker) < account->holder_count;
}

/* ---- whose turn it is ---- */

static double on_its_way(const struct shares_account *account)
{
    return account->out * account->mean_ns / account->quota.share;
}

double preprocess_shares_place(const struct shares *shares, const struct shares_account *account)
{
    double place = account->had + on_its_way(account);
    double earliest = shares->now - SHARES_LATE_NS / account->quota.share;
    return place > earliest ? place : earliest;
}

void preprocess_shares_take(struct shares *shares, struct shares_account *account)
{
    double place = preprocess_shares_place(shares, account);
    account->had = place - on_its_way(account);
    if (place > shares->now)
        shares->now = place;
}
