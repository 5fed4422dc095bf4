/* The worker's side of the delivery protocol: see the rules in flow.h. */
#include "preprocess/worker/flow.h"

#include "core/base/memory.h"
#include "core/base/number.h"

#include <stdlib.h>
#include <string.h>

/* ---- leases ---- */

struct worker_lease *preprocess_flow_lease(struct worker_flow *flow, uint64_t fence)
{
    for (size_t i = 0; i < WORKER_LEASES_MAX; i++) {
        if (flow->leases[i].fence == fence && fence != 0)
            return &flow->leases[i];
    }
    return NULL;
}

static const struct worker_lease *lease_of(const struct worker_flow *flow, uint64_t fence)
{
    for (size_t i = 0; i < WORKER_LEASES_MAX; i++) {
        if (flow->leases[i].fence == fence)
            return &flow->leases[i];
    }
    return NULL;
}

static uint64_t all_batches(const struct worker_lease *lease)
{
    return lease->batches.count == 64 ? UINT64_MAX : ((uint64_t)1 << lease->batches.count) - 1;
}

bool preprocess_worker_lease_done(const struct worker_lease *lease)
{
    return lease->batches.count > 0 && lease->sent == all_batches(lease);
}

static uint64_t bit_of(const struct worker_lease *lease, uint64_t batch)
{
    return (uint64_t)1 << (batch - lease->batches.first);
}

static void discard(struct worker_flow *flow, size_t index)
{
    flow->discarded = weir_grow(flow->discarded, flow->discarded_count, &flow->discarded_capacity,
                                sizeof(*flow->discarded));
    flow->discarded[flow->discarded_count++] = flow->ready[index].payload;
    flow->ready[index] = flow->ready[--flow->ready_count];
}

static void drop_lease(struct worker_flow *flow, struct worker_lease *lease)
{
    for (size_t i = flow->ready_count; i-- > 0;) {
        if (flow->ready[i].fence == lease->fence)
            discard(flow, i);
    }
    *lease = (struct worker_lease){0};
}

static uint64_t left_of(const struct worker_lease *lease)
{
    return lease->fence != 0 ? all_batches(lease) & ~lease->made : 0;
}

/* Finished batches that wait for one consumer. */
struct waiting {
    size_t count;
    uint64_t lowest;
};

static struct waiting waiting_for(const struct worker_flow *flow, uint64_t job, uint64_t session)
{
    struct waiting waiting = {.lowest = UINT64_MAX};
    for (size_t i = 0; i < flow->ready_count; i++) {
        const struct worker_lease *lease = &flow->leases[flow->ready[i].slot];
        if (lease->job != job || lease->session != session)
            continue;
        waiting.count++;
        if (flow->ready[i].batch < waiting.lowest)
            waiting.lowest = flow->ready[i].batch;
    }
    return waiting;
}

static bool is_listed(const struct msg_worker_orders *orders, const struct worker_lease *lease)
{
    for (size_t i = 0; i < orders->fences.count; i++) {
        if (orders->fences.at[i] == lease->fence)
            return true;
    }
    return false;
}

static void add_lease(struct worker_flow *flow, const struct worker_lease *lease)
{
    for (size_t i = 0; i < WORKER_LEASES_MAX; i++) {
        if (flow->leases[i].fence == 0) {
            flow->leases[i] = *lease;
            return;
        }
    }
}

static bool is_complete(const struct msg_worker_orders *orders)
{
    size_t count = orders->fences.count;
    return orders->jobs.count == count && orders->attempts.count == count &&
           orders->groups.count == count && orders->sessions.count == count &&
           orders->ranks.count == count;
}

/* Rule 9. */
static void give_up_unbegun(struct worker_flow *flow)
{
    struct worker_make next;
    (void)preprocess_flow_next_make(flow, &next);
    for (size_t i = 0; i < WORKER_LEASES_MAX; i++) {
        struct worker_lease *lease = &flow->leases[i];
        if (lease->fence != 0 && lease->made == 0 && lease->fence != next.fence)
            drop_lease(flow, lease);
    }
}

void preprocess_flow_orders(struct worker_flow *flow, const struct msg_worker_orders *orders,
                            int64_t sent_ms)
{
    if (orders->session != flow->session || !is_complete(orders))
        return;
    for (size_t i = 0; i < WORKER_LEASES_MAX; i++) {
        if (flow->leases[i].fence != 0 && !is_listed(orders, &flow->leases[i]))
            drop_lease(flow, &flow->leases[i]);
    }
    for (size_t i = 0; i < orders->fences.count; i++) {
        struct worker_lease lease = {
            .fence = orders->fences.at[i],
            .job = orders->jobs.at[i],
            .attempt = orders->attempts.at[i],
            .group = orders->groups.at[i],
            .session = orders->sessions.at[i],
            .rank = orders->ranks.at[i],
        };
        if (lease.fence != 0 && preprocess_flow_lease(flow, lease.fence) == NULL)
            add_lease(flow, &lease);
    }
    int64_t until_ms = sent_ms + orders->lease_ms;
    if (until_ms > flow->leases_until_ms)
        flow->leases_until_ms = until_ms;
    flow->drains = orders->drains;
    if (flow->drains)
        give_up_unbegun(flow);
}

void preprocess_flow_expire(struct worker_flow *flow, int64_t now_ms)
{
    for (size_t i = 0; i < WORKER_LEASES_MAX && now_ms >= flow->leases_until_ms; i++) {
        if (flow->leases[i].fence != 0)
            drop_lease(flow, &flow->leases[i]);
    }
    for (size_t i = 0; i < WORKER_CONSUMERS_MAX; i++) {
        struct worker_consumer *consumer = &flow->consumers[i];
        if (consumer->session != 0 && now_ms - consumer->heard_ms >= WORKER_FORGET_MS)
            *consumer = (struct worker_consumer){0};
    }
}

void preprocess_flow_drop_all(struct worker_flow *flow)
{
    for (size_t i = 0; i < WORKER_LEASES_MAX; i++) {
        if (flow->leases[i].fence != 0)
            drop_lease(flow, &flow->leases[i]);
    }
}

void *preprocess_flow_discarded(struct worker_flow *flow)
{
    return flow->discarded_count > 0 ? flow->discarded[--flow->discarded_count] : NULL;
}

/* ---- life ---- */

void preprocess_flow_init(struct worker_flow *flow, uint64_t session)
{
    memset(flow, 0, sizeof(*flow));
    flow->session = session;
    flow->leases_until_ms = INT64_MIN;
    flow->use_until_ms = INT64_MIN;
}

void preprocess_flow_fini(struct worker_flow *flow)
{
    weir_require(flow->ready_count == 0 && flow->discarded_count == 0);
    free(flow->ready);
    free(flow->discarded);
    free(flow->erased);
    memset(flow, 0, sizeof(*flow));
}

/* ---- consumers ---- */

static int find_consumer(const struct worker_flow *flow, uint64_t job, uint64_t session)
{
    for (int i = 0; i < WORKER_CONSUMERS_MAX; i++) {
        if (flow->consumers[i].session == session && flow->consumers[i].job == job && session != 0)
            return i;
    }
    return -1;
}

static bool is_served(const struct worker_flow *flow, uint64_t job, uint64_t session)
{
    for (size_t i = 0; i < WORKER_LEASES_MAX; i++) {
        const struct worker_lease *lease = &flow->leases[i];
        if (lease->fence != 0 && lease->job == job && lease->session == session)
            return true;
    }
    return false;
}

bool preprocess_flow_serves(const struct worker_flow *flow, size_t consumer)
{
    return is_served(flow, flow->consumers[consumer].job, flow->consumers[consumer].session);
}

/* Of those that nothing is made for, the one that was not heard of for longest: anybody may call himself a consumer,
 * but leases are of those that the dispatcher knows. */
static int idle_consumer(const struct worker_flow *flow)
{
    int idle = -1;
    for (int i = 0; i < WORKER_CONSUMERS_MAX; i++) {
        if ((idle < 0 || flow->consumers[i].heard_ms < flow->consumers[idle].heard_ms) &&
            !preprocess_flow_serves(flow, (size_t)i))
            idle = i;
    }
    return idle;
}

static int free_consumer(const struct worker_flow *flow)
{
    for (int i = 0; i < WORKER_CONSUMERS_MAX; i++) {
        if (flow->consumers[i].session == 0)
            return i;
    }
    return -1;
}

/* Rule 5. */
static void make_lost_again(struct worker_flow *flow, const struct worker_consumer *consumer,
                            int64_t now_ms)
{
    for (size_t i = 0; i < WORKER_LEASES_MAX; i++) {
        struct worker_lease *lease = &flow->leases[i];
        uint64_t missing = consumer->missing;
        if (lease->fence == 0 || lease->job != consumer->job ||
            lease->session != consumer->session || missing < lease->batches.first ||
            missing - lease->batches.first >= lease->batches.count)
            continue;
        uint64_t bit = bit_of(lease, missing);
        if ((lease->sent & bit) != 0 && now_ms - lease->sent_ms >= WORKER_RESEND_MS) {
            lease->sent &= ~bit;
            lease->made &= ~bit;
        }
    }
}

/* The consumer has everything below `missing`: what of it is still to be made or sent is not. */
static void skip_delivered(struct worker_flow *flow, const struct worker_consumer *consumer,
                           int64_t now_ms)
{
    for (size_t i = 0; i < WORKER_LEASES_MAX; i++) {
        struct worker_lease *lease = &flow->leases[i];
        if (lease->fence == 0 || lease->job != consumer->job ||
            lease->session != consumer->session || lease->batches.first >= consumer->missing)
            continue;
        uint64_t below = consumer->missing - lease->batches.first;
        uint64_t bits =
            below >= lease->batches.count ? all_batches(lease) : ((uint64_t)1 << below) - 1;
        if ((lease->sent & bits) != bits)
            lease->sent_ms = now_ms;
        lease->made |= bits;
        lease->sent |= bits;
    }
    for (size_t i = flow->ready_count; i-- > 0;) {
        const struct worker_lease *lease = &flow->leases[flow->ready[i].slot];
        if (lease->job == consumer->job && lease->session == consumer->session &&
            flow->ready[i].batch < consumer->missing)
            discard(flow, i);
    }
}

int preprocess_flow_credit(struct worker_flow *flow, const struct msg_credit *credit, uint64_t key,
                           int64_t now_ms)
{
    if (credit->session == 0)
        return -1;
    int slot = find_consumer(flow, credit->job, credit->session);
    bool counts = credit->worker_session == 0 || credit->worker_session == flow->session;
    if (slot < 0) {
        slot = free_consumer(flow);
        if (slot < 0 && is_served(flow, credit->job, credit->session))
            slot = idle_consumer(flow);
        if (slot < 0)
            return -1;
        flow->consumers[slot] = (struct worker_consumer){
            .job = credit->job, .attempt = credit->attempt, .session = credit->session, .key = key};
    }
    struct worker_consumer *consumer = &flow->consumers[slot];
    if (consumer->key != key)
        return -1;
    if (counts && credit->granted > consumer->granted)
        consumer->granted = credit->granted;
    if (counts && credit->taken > consumer->taken)
        consumer->taken = credit->taken;
    if (consumer->sent < consumer->taken) /* it was forgotten here, and has come back */
        consumer->sent = consumer->taken;
    consumer->missing = credit->missing;
    consumer->starving = credit->starving;
    consumer->heard_ms = now_ms;
    skip_delivered(flow, consumer, now_ms);
    make_lost_again(flow, consumer, now_ms);
    return slot;
}

/* ---- making ---- */

void preprocess_flow_begin(struct worker_flow *flow, uint64_t fence,
                           struct preprocess_range batches)
{
    weir_require(batches.count <= PREPROCESS_GROUP_BATCHES_MAX);
    struct worker_lease *lease = preprocess_flow_lease(flow, fence);
    if (lease != NULL && lease->batches.count == 0)
        lease->batches = batches;
}

void preprocess_flow_share(struct worker_flow *flow, uint64_t fence, uint64_t production)
{
    struct worker_lease *lease = preprocess_flow_lease(flow, fence);
    if (lease != NULL)
        lease->production = production;
}

bool preprocess_worker_is_same_work(const struct worker_lease *lease,
                                    const struct worker_lease *other)
{
    return lease->fence != 0 && lease->production != 0 && lease->production == other->production &&
           lease->group == other->group && lease->rank == other->rank;
}

bool preprocess_flow_needs(const struct worker_flow *flow, uint64_t job, uint64_t batch,
                           uint64_t reach, bool is_awaited)
{
    bool is_known = false;
    for (size_t i = 0; i < WORKER_CONSUMERS_MAX; i++) {
        const struct worker_consumer *consumer = &flow->consumers[i];
        if (consumer->session == 0 || consumer->job != job)
            continue;
        is_known = true;
        if (batch >= consumer->missing && batch - consumer->missing <= reach)
            return true;
    }
    return !is_known && is_awaited && batch <= reach;
}

static bool is_made(const struct worker_lease *lease, uint64_t batch)
{
    return lease->batches.count > 0 && (lease->made & bit_of(lease, batch)) != 0;
}

bool preprocess_flow_is_to_make(const struct worker_flow *flow, uint64_t job, uint64_t group,
                                uint32_t rank, uint64_t batch)
{
    for (size_t i = 0; i < WORKER_LEASES_MAX; i++) {
        const struct worker_lease *lease = &flow->leases[i];
        if (lease->fence != 0 && lease->job == job && lease->group == group && lease->rank == rank)
            return !is_made(lease, batch);
    }
    return false;
}

void preprocess_flow_suspend(struct worker_flow *flow, uint64_t fence)
{
    struct worker_lease *lease = preprocess_flow_lease(flow, fence);
    if (lease != NULL)
        lease->batches.count = 0;
}

/* The fence of the oldest lease of which something is to be made for the same consumer. */
static uint64_t oldest_of(const struct worker_flow *flow, const struct worker_lease *wanted)
{
    uint64_t oldest = wanted->fence;
    for (size_t i = 0; i < WORKER_LEASES_MAX; i++) {
        const struct worker_lease *lease = &flow->leases[i];
        if (left_of(lease) != 0 && lease->job == wanted->job && lease->session == wanted->session &&
            lease->fence < oldest)
            oldest = lease->fence;
    }
    return oldest;
}

/* The batch of a lease that is to be made next. */
struct makeable {
    uint64_t fence; /* 0: nothing */
    uint64_t batch;
    size_t waiting;  /* finished batches for its consumer */
    uint64_t oldest; /* fence of its consumer's leases */
};

/* Nothing when enough is finished for its consumer, until some of that is sent. */
static struct makeable makeable_of(const struct worker_flow *flow, const struct worker_lease *lease)
{
    if (left_of(lease) == 0)
        return (struct makeable){0};
    uint64_t batch = lease->batches.first + (uint64_t)__builtin_ctzll(left_of(lease));
    struct waiting waiting = waiting_for(flow, lease->job, lease->session);
    if (waiting.count >= WORKER_READY_MAX && batch > waiting.lowest)
        return (struct makeable){0};
    return (struct makeable){lease->fence, batch, waiting.count, oldest_of(flow, lease)};
}

static bool is_busy(const struct worker_flow *flow, const struct worker_lease *lease)
{
    bool is_begun = lease->batches.count > 0;
    return lease->fence != 0 && (!is_begun || makeable_of(flow, lease).fence != 0);
}

/* True when another lease stands for the same work (rule 8). */
static bool is_counted(const struct worker_flow *flow, size_t index)
{
    for (size_t i = 0; i < index; i++) {
        if (preprocess_worker_is_same_work(&flow->leases[i], &flow->leases[index]) &&
            is_busy(flow, &flow->leases[i]))
            return true;
    }
    return false;
}

uint32_t preprocess_flow_want(const struct worker_flow *flow)
{
    uint32_t busy = 0;
    if (flow->drains)
        return 0;
    for (size_t i = 0; i < WORKER_LEASES_MAX; i++)
        busy += is_busy(flow, &flow->leases[i]) && !is_counted(flow, i);
    return busy < WORKER_LEASES_WANTED ? WORKER_LEASES_WANTED - busy : 0;
}

/* True when `one` is made first: for one consumer the lower batch, for two the one that has waited longer, so
 * that each lease comes to its end whatever else the worker is given. */
static bool comes_before(const struct makeable *one, const struct makeable *other)
{
    if (one->waiting != other->waiting)
        return one->waiting < other->waiting;
    if (one->oldest != other->oldest)
        return one->oldest < other->oldest;
    return one->batch < other->batch;
}

bool preprocess_flow_next_make(const struct worker_flow *flow, struct worker_make *ret_make)
{
    struct makeable next = {0};
    for (size_t i = 0; i < WORKER_LEASES_MAX; i++) {
        struct makeable candidate = makeable_of(flow, &flow->leases[i]);
        if (candidate.fence != 0 && (next.fence == 0 || comes_before(&candidate, &next)))
            next = candidate;
    }
    *ret_make = (struct worker_make){.fence = next.fence, .batch = next.batch};
    return next.fence != 0;
}

const struct worker_lease *preprocess_flow_work(const struct worker_flow *flow)
{
    struct worker_make what;
    const struct worker_lease *oldest = NULL;
    if (preprocess_flow_next_make(flow, &what))
        return lease_of(flow, what.fence);
    for (size_t i = 0; i < WORKER_LEASES_MAX; i++) {
        const struct worker_lease *lease = &flow->leases[i];
        if (lease->fence == 0 || lease->batches.count > 0 ||
            waiting_for(flow, lease->job, lease->session).count >= WORKER_READY_MAX)
            continue;
        if (oldest == NULL || lease->fence < oldest->fence)
            oldest = lease;
    }
    return oldest;
}

static bool holds_erased(const struct worker_flow *flow, const struct worker_ready *ready)
{
    for (size_t i = 0; i < ready->id_count && flow->erased_count > 0; i++) {
        if (preprocess_flow_is_erased(flow, ready->ids[i]))
            return true;
    }
    return false;
}

bool preprocess_flow_made(struct worker_flow *flow, const struct worker_ready *ready)
{
    struct worker_lease *lease = preprocess_flow_lease(flow, ready->fence);
    if (lease == NULL || (lease->made & bit_of(lease, ready->batch)) != 0 ||
        holds_erased(flow, ready))
        return false;
    flow->ready =
        weir_grow(flow->ready, flow->ready_count, &flow->ready_capacity, sizeof(*flow->ready));
    lease->made |= bit_of(lease, ready->batch);
    flow->ready[flow->ready_count] = *ready;
    flow->ready[flow->ready_count++].slot = (size_t)(lease - flow->leases);
    return true;
}

void preprocess_flow_folded(struct worker_flow *flow, uint64_t fence, uint64_t batch)
{
    struct worker_lease *lease = preprocess_flow_lease(flow, fence);
    if (lease == NULL)
        return;
    lease->made |= bit_of(lease, batch);
    lease->sent |= bit_of(lease, batch);
}

/* ---- sending ---- */

/* Rule 6. */
static bool may_send_any(const struct worker_flow *flow, int64_t now_ms)
{
    return now_ms < flow->use_until_ms && !preprocess_flow_is_behind(flow);
}

static bool may_send(const struct worker_consumer *consumer, const struct worker_ready *ready)
{
    return consumer->sent == consumer->taken ||
           consumer->sent + ready->bytes <= consumer->granted ||
           (consumer->starving && ready->batch == consumer->missing);
}

int preprocess_flow_would_send(const struct worker_flow *flow, const struct worker_make *what,
                               uint64_t bytes, int64_t now_ms)
{
    const struct worker_lease *lease = lease_of(flow, what->fence);
    const struct worker_ready ready = {.batch = what->batch, .bytes = bytes};
    int slot = lease != NULL ? find_consumer(flow, lease->job, lease->session) : -1;
    bool is_next = slot >= 0 && waiting_for(flow, lease->job, lease->session).count == 0;
    return is_next && may_send_any(flow, now_ms) && may_send(&flow->consumers[slot], &ready) ? slot
                                                                                             : -1;
}

/* The oldest batch that waits for the consumer; -1: none. */
static int64_t oldest_ready(const struct worker_flow *flow, const struct worker_consumer *consumer)
{
    int64_t oldest = -1;
    for (size_t i = 0; i < flow->ready_count; i++) {
        const struct worker_lease *lease = &flow->leases[flow->ready[i].slot];
        if (lease->job != consumer->job || lease->session != consumer->session)
            continue;
        if (oldest < 0 || flow->ready[i].batch < flow->ready[oldest].batch)
            oldest = (int64_t)i;
    }
    return oldest;
}

bool preprocess_flow_next_send(struct worker_flow *flow, int64_t now_ms,
                               struct worker_send *ret_send)
{
    if (!may_send_any(flow, now_ms))
        return false;
    for (size_t i = 0; i < WORKER_CONSUMERS_MAX && flow->ready_count > 0; i++) {
        size_t slot = (flow->next_consumer + i) % WORKER_CONSUMERS_MAX;
        const struct worker_consumer *consumer = &flow->consumers[slot];
        int64_t index = consumer->session == 0 ? -1 : oldest_ready(flow, consumer);
        if (index < 0 || !may_send(consumer, &flow->ready[index]))
            continue;
        flow->next_consumer = slot + 1;
        *ret_send = (struct worker_send){
            .ready = (size_t)index,
            .consumer = slot,
            .erasure_epoch = flow->erasure_epoch,
            .sent = consumer->sent,
        };
        return true;
    }
    return false;
}

void preprocess_flow_sent(struct worker_flow *flow, const struct worker_send *send, int64_t now_ms)
{
    struct worker_ready *ready = &flow->ready[send->ready];
    struct worker_lease *lease = preprocess_flow_lease(flow, ready->fence);
    lease->sent |= bit_of(lease, ready->batch);
    lease->sent_ms = now_ms;
    flow->consumers[send->consumer].sent += ready->bytes;
    *ready = flow->ready[--flow->ready_count];
}

/* ---- storage ---- */

bool preprocess_flow_is_erased(const struct worker_flow *flow, uint64_t id)
{
    return flow->erased_count > 0 &&
           bsearch(&id, flow->erased, flow->erased_count, sizeof(id), weir_order_u64) != NULL;
}

static void add_erased(struct worker_flow *flow, struct weir_u64s ids)
{
    flow->erased = weir_realloc(flow->erased, flow->erased_count + ids.count, sizeof(uint64_t));
    memcpy(flow->erased + flow->erased_count, ids.at, ids.count * sizeof(uint64_t));
    flow->erased_count += ids.count;
    qsort(flow->erased, flow->erased_count, sizeof(uint64_t), weir_order_u64);
}

/* Rule 6: they will be made again, with holes. */
static void drop_erased(struct worker_flow *flow)
{
    for (size_t i = flow->ready_count; i-- > 0;) {
        const struct worker_ready *ready = &flow->ready[i];
        if (!holds_erased(flow, ready))
            continue;
        struct worker_lease *lease = preprocess_flow_lease(flow, ready->fence);
        lease->made &= ~bit_of(lease, ready->batch);
        discard(flow, i);
    }
}

void preprocess_flow_held(struct worker_flow *flow, const struct msg_hold_is *answer,
                          int64_t sent_ms)
{
    if (answer->epoch > flow->erasure_epoch) {
        if (answer->erased.count > 0) {
            add_erased(flow, answer->erased);
            drop_erased(flow);
        }
        flow->erasure_epoch = answer->epoch;
    }
    preprocess_flow_hint(flow, answer->epoch);
    flow->hold_pause_ms = answer->pause_ms < answer->lease_ms ? answer->pause_ms : 0;
    int64_t until_ms = sent_ms + answer->lease_ms;
    if (until_ms > flow->use_until_ms)
        flow->use_until_ms = until_ms;
}

void preprocess_flow_hint(struct worker_flow *flow, uint64_t epoch)
{
    if (epoch > flow->hinted)
        flow->hinted = epoch;
}

bool preprocess_flow_is_behind(const struct worker_flow *flow)
{
    return flow->hinted > flow->erasure_epoch;
}
