/* Claims in the order they came, and what each pipeline has had. */
#include "orchestrator/sharing/arbiter.h"

#include "core/base/memory.h"

#include <stdlib.h>

enum { FIRST_CHARGE_NS = 1000000000 }; /* of a pipeline of which no run is over yet */

/* Virtual time is nanoseconds of one slot, divided by the share. */
struct account {
    int64_t pipeline;
    struct arbiter_quota quota;
    size_t holds, gpus;
    double finish; /* of what it was granted */
    int64_t last_ns;
};

struct claim {
    struct arbiter_claim wants;
    size_t account;
    bool is_granted;
    uint64_t gpus; /* held, a bit each */
    int64_t since_ns, charged_ns, billed_ns;
    bool is_settled; /* its bill is paid */
};

struct arbiter {
    size_t slots, busy;
    size_t gpu_count;
    uint64_t gpus_free;
    double now; /* virtual: where the newest grant began */
    struct claim *claims;
    size_t claim_count, claim_capacity;
    struct account *accounts;
    size_t account_count;
};

struct arbiter *orchestrator_arbiter_new(size_t trainers, size_t gpus)
{
    struct arbiter *arbiter = weir_calloc(1, sizeof(*arbiter));
    weir_require(gpus <= CFG_GPUS_MAX); /* the bound of `gpus` in the system file */
    arbiter->slots = trainers;
    arbiter->gpu_count = gpus;
    arbiter->gpus_free = gpus == CFG_GPUS_MAX ? UINT64_MAX : (UINT64_C(1) << gpus) - 1;
    return arbiter;
}

void orchestrator_arbiter_free(struct arbiter *arbiter)
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
        weir_realloc(arbiter->accounts, arbiter->account_count + 1, sizeof(*arbiter->accounts));
    arbiter->accounts[arbiter->account_count] =
        (struct account){.pipeline = pipeline, .last_ns = FIRST_CHARGE_NS};
    return arbiter->account_count++;
}

static struct claim *find_claim(const struct arbiter *arbiter, int64_t run)
{
    for (size_t i = 0; i < arbiter->claim_count; i++)
        if (arbiter->claims[i].wants.run == run)
            return &arbiter->claims[i];
    return NULL;
}

static double start_of(const struct arbiter *arbiter, const struct account *account)
{
    return account->finish > arbiter->now ? account->finish : arbiter->now;
}

void orchestrator_arbiter_recall(struct arbiter *arbiter, int64_t pipeline,
                                 const struct arbiter_quota *quota, int64_t held_ns)
{
    size_t index = find_account(arbiter, pipeline); /* it may move them */
    struct account *account = &arbiter->accounts[index];
    arbiter->now = start_of(arbiter, account);
    account->finish = arbiter->now + (double)held_ns / quota->share;
    account->last_ns = held_ns;
}

bool orchestrator_arbiter_claim(struct arbiter *arbiter, const struct arbiter_claim *claim)
{
    if (claim->gpus > arbiter->gpu_count ||
        (claim->quota.gpus > 0 && claim->gpus > claim->quota.gpus))
        return false;
    if (find_claim(arbiter, claim->run) != NULL)
        return true;
    size_t account = find_account(arbiter, claim->pipeline);
    arbiter->accounts[account].quota = claim->quota;
    arbiter->claims = weir_grow(arbiter->claims, arbiter->claim_count, &arbiter->claim_capacity,
                                sizeof(*arbiter->claims));
    arbiter->claims[arbiter->claim_count++] = (struct claim){.wants = *claim, .account = account};
    return true;
}

/* Within its quota. */
static bool may_have(const struct arbiter *arbiter, const struct claim *claim)
{
    const struct account *account = &arbiter->accounts[claim->account];
    const struct arbiter_quota *quota = &account->quota;
    return !claim->is_granted && (quota->trainers == 0 || account->holds < quota->trainers) &&
           (quota->gpus == 0 || account->gpus + claim->wants.gpus <= quota->gpus);
}

static bool comes_before(const struct arbiter *arbiter, const struct claim *one,
                         const struct claim *other)
{
    if (one->account == other->account)
        return one->wants.is_urgent && !other->wants.is_urgent;
    return start_of(arbiter, &arbiter->accounts[one->account]) <
           start_of(arbiter, &arbiter->accounts[other->account]);
}

static struct claim *find_next(const struct arbiter *arbiter, bool without_gpus)
{
    struct claim *next = NULL;
    for (size_t i = 0; i < arbiter->claim_count; i++) {
        struct claim *claim = &arbiter->claims[i];
        if (may_have(arbiter, claim) && (!without_gpus || claim->wants.gpus == 0) &&
            (next == NULL || comes_before(arbiter, claim, next)))
            next = claim;
    }
    return next;
}

static uint64_t take_gpus(struct arbiter *arbiter, size_t count)
{
    uint64_t taken = 0;
    for (size_t i = 0; i < count; i++) {
        uint64_t lowest = arbiter->gpus_free & (~arbiter->gpus_free + 1);
        arbiter->gpus_free &= ~lowest;
        taken |= lowest;
    }
    return taken;
}

bool orchestrator_arbiter_grant(struct arbiter *arbiter, int64_t now_ns, int64_t *ret_run)
{
    if (arbiter->slots > 0 && arbiter->busy >= arbiter->slots)
        return false;
    struct claim *next = find_next(arbiter, false);
    if (next != NULL && next->wants.gpus > (size_t)__builtin_popcountll(arbiter->gpus_free))
        next = find_next(arbiter, true);
    if (next == NULL)
        return false;
    struct account *account = &arbiter->accounts[next->account];
    arbiter->now = start_of(arbiter, account);
    next->is_granted = true;
    next->gpus = take_gpus(arbiter, next->wants.gpus);
    next->since_ns = next->billed_ns = now_ns;
    next->charged_ns = account->last_ns;
    account->finish = arbiter->now + (double)next->charged_ns / account->quota.share;
    account->holds++;
    account->gpus += next->wants.gpus;
    arbiter->busy++;
    *ret_run = next->wants.run;
    return true;
}

bool orchestrator_arbiter_holds(const struct arbiter *arbiter, int64_t run)
{
    const struct claim *claim = find_claim(arbiter, run);
    return claim != NULL && claim->is_granted;
}

uint64_t orchestrator_arbiter_gpus(const struct arbiter *arbiter, int64_t run)
{
    const struct claim *claim = find_claim(arbiter, run);
    return claim == NULL ? 0 : claim->gpus;
}

int64_t orchestrator_arbiter_bill(struct arbiter *arbiter, int64_t run, int64_t now_ns)
{
    struct claim *claim = find_claim(arbiter, run);
    if (claim == NULL || !claim->is_granted || claim->is_settled)
        return 0;
    int64_t held_ns = now_ns - claim->billed_ns;
    claim->billed_ns = now_ns;
    return held_ns;
}

void orchestrator_arbiter_settle(struct arbiter *arbiter, int64_t run)
{
    struct claim *claim = find_claim(arbiter, run);
    if (claim != NULL)
        claim->is_settled = true;
}

void orchestrator_arbiter_release(struct arbiter *arbiter, int64_t run, int64_t now_ns)
{
    struct claim *claim = find_claim(arbiter, run);
    if (claim == NULL)
        return;
    if (claim->is_granted) {
        struct account *account = &arbiter->accounts[claim->account];
        int64_t took_ns = now_ns - claim->since_ns;
        account->finish += (double)(took_ns - claim->charged_ns) / account->quota.share;
        account->last_ns = took_ns;
        account->holds--;
        account->gpus -= claim->wants.gpus;
        arbiter->gpus_free |= claim->gpus;
        arbiter->busy--;
    }
    size_t index = (size_t)(claim - arbiter->claims);
    arbiter->claim_count--;
    for (size_t i = index; i < arbiter->claim_count; i++)
        arbiter->claims[i] = arbiter->claims[i + 1];
}

struct arbiter_view orchestrator_arbiter_look(const struct arbiter *arbiter)
{
    return (struct arbiter_view){.slots = arbiter->slots,
                                 .busy = arbiter->busy,
                                 .waiting = arbiter->claim_count - arbiter->busy,
                                 .gpus = arbiter->gpu_count,
                                 .gpus_busy = arbiter->gpu_count -
                                              (size_t)__builtin_popcountll(arbiter->gpus_free)};
}

struct arbiter_view orchestrator_arbiter_look_at(const struct arbiter *arbiter, int64_t pipeline)
{
    struct arbiter_view view = {.slots = arbiter->slots, .gpus = arbiter->gpu_count};
    for (size_t i = 0; i < arbiter->claim_count; i++) {
        const struct claim *claim = &arbiter->claims[i];
        if (claim->wants.pipeline != pipeline)
            continue;
        view.busy += claim->is_granted;
        view.waiting += !claim->is_granted;
        view.gpus_busy += (size_t)__builtin_popcountll(claim->gpus);
    }
    return view;
}
