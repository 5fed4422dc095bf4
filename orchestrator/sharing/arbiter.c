/* Claims in the order they came, and what each pipeline has had. */
#include "orchestrator/sharing/arbiter.h"

#include "core/base/memory.h"

#include <stdlib.h>

enum { FIRST_CHARGE_MS = 1000 }; /* of a pipeline of which no run is over yet */

/* Virtual time is milliseconds of one slot, divided by the share. */
struct account {
    int64_t pipeline;
    struct arbiter_quota quota;
    size_t holds;
    double finish; /* of what it was granted */
    int64_t last_ms;
};

struct claim {
    int64_t run;
    size_t account;
    bool is_urgent, is_granted;
    int64_t since_ms, charged_ms;
};

struct arbiter {
    size_t slots, busy;
    double now; /* virtual: where the newest grant began */
    struct claim *claims;
    size_t claim_count, claim_capacity;
    struct account *accounts;
    size_t account_count;
};

struct arbiter *arbiter_new(size_t slots)
{
    struct arbiter *arbiter = weir_calloc(1, sizeof *arbiter);
    arbiter->slots = slots;
    return arbiter;
}

void arbiter_free(struct arbiter *arbiter)
{
    if (arbiter == NULL)
        return;
    free(arbiter->claims);
    free(arbiter->accounts);
    free(arbiter);
}

static size_t find_account(struct arbiter *arbiter, int64_t pipeline)
{
    for (size_t i = 0; i < arbiter->account_count; i++)
        if (arbiter->accounts[i].pipeline == pipeline)
            return i;
    arbiter->accounts =
        weir_realloc(arbiter->accounts, arbiter->account_count + 1, sizeof *arbiter->accounts);
    arbiter->accounts[arbiter->account_count] =
        (struct account){.pipeline = pipeline, .last_ms = FIRST_CHARGE_MS};
    return arbiter->account_count++;
}

static struct claim *find_claim(const struct arbiter *arbiter, int64_t run)
{
    for (size_t i = 0; i < arbiter->claim_count; i++)
        if (arbiter->claims[i].run == run)
            return &arbiter->claims[i];
    return NULL;
}

void arbiter_claim(struct arbiter *arbiter, int64_t run, int64_t pipeline,
                   const struct arbiter_quota *quota, bool is_urgent)
{
    if (find_claim(arbiter, run) != NULL)
        return;
    size_t account = find_account(arbiter, pipeline);
    arbiter->accounts[account].quota = *quota;
    if (arbiter->claim_count == arbiter->claim_capacity) {
        arbiter->claim_capacity = arbiter->claim_capacity == 0 ? 16 : 2 * arbiter->claim_capacity;
        arbiter->claims =
            weir_realloc(arbiter->claims, arbiter->claim_capacity, sizeof *arbiter->claims);
    }
    arbiter->claims[arbiter->claim_count++] =
        (struct claim){.run = run, .account = account, .is_urgent = is_urgent};
}

static double start_of(const struct arbiter *arbiter, const struct claim *claim)
{
    double finish = arbiter->accounts[claim->account].finish;
    return finish > arbiter->now ? finish : arbiter->now;
}

static bool may_have(const struct arbiter *arbiter, const struct claim *claim)
{
    const struct account *account = &arbiter->accounts[claim->account];
    return !claim->is_granted &&
           (account->quota.trainers == 0 || account->holds < account->quota.trainers);
}

static bool comes_before(const struct arbiter *arbiter, const struct claim *one,
                         const struct claim *other)
{
    double start = start_of(arbiter, one), other_start = start_of(arbiter, other);
    if (one->account == other->account)
        return one->is_urgent && !other->is_urgent;
    return start < other_start;
}

bool arbiter_grant(struct arbiter *arbiter, int64_t now_ms, int64_t *ret_run)
{
    struct claim *next = NULL;
    if (arbiter->slots > 0 && arbiter->busy >= arbiter->slots)
        return false;
    for (size_t i = 0; i < arbiter->claim_count; i++) {
        struct claim *claim = &arbiter->claims[i];
        if (may_have(arbiter, claim) && (next == NULL || comes_before(arbiter, claim, next)))
            next = claim;
    }
    if (next == NULL)
        return false;
    struct account *account = &arbiter->accounts[next->account];
    arbiter->now = start_of(arbiter, next);
    next->is_granted = true;
    next->since_ms = now_ms;
    next->charged_ms = account->last_ms;
    account->finish = arbiter->now + (double)next->charged_ms / account->quota.share;
    account->holds++;
    arbiter->busy++;
    *ret_run = next->run;
    return true;
}

bool arbiter_holds(const struct arbiter *arbiter, int64_t run)
{
    const struct claim *claim = find_claim(arbiter, run);
    return claim != NULL && claim->is_granted;
}

void arbiter_release(struct arbiter *arbiter, int64_t run, int64_t now_ms)
{
    struct claim *claim = find_claim(arbiter, run);
    if (claim == NULL)
        return;
    if (claim->is_granted) {
        struct account *account = &arbiter->accounts[claim->account];
        int64_t took_ms = now_ms - claim->since_ms;
        account->finish += (double)(took_ms - claim->charged_ms) / account->quota.share;
        account->last_ms = took_ms;
        account->holds--;
        arbiter->busy--;
    }
    size_t index = (size_t)(claim - arbiter->claims);
    arbiter->claim_count--;
    for (size_t i = index; i < arbiter->claim_count; i++)
        arbiter->claims[i] = arbiter->claims[i + 1];
}

struct arbiter_view arbiter_look(const struct arbiter *arbiter)
{
    return (struct arbiter_view){.slots = arbiter->slots,
                                 .busy = arbiter->busy,
                                 .waiting = arbiter->claim_count - arbiter->busy};
}
