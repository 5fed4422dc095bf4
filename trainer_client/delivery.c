/* The consumer's delivery state machine (rules: delivery.h): arrivals, what the loop gets, reports
 * and commits. Opening is in delivery_open.c, credit in delivery_credit.c, erasure and lease in
 * delivery_erasure.c. */
#include "trainer_client/delivery_state.h"

#include "core/wire/sample.h"

#include <stdlib.h>

struct delivery *trainer_delivery_new(uint64_t job, uint64_t session, uint64_t window_bytes,
                                      const struct weir_position *position)
{
    struct delivery *delivery = weir_calloc(1, sizeof(*delivery));
    delivery->job = job;
    delivery->session = session;
    delivery->ranks = 1;
    delivery->window_bytes = window_bytes;
    delivery->is_window_given = window_bytes != 0;
    delivery->lease_end_ms = INT64_MIN;
    delivery->names_state = position != NULL;
    if (position != NULL)
        weir_position_copy(&delivery->position, position);
    return delivery;
}

void trainer_delivery_free(struct delivery *delivery)
{
    if (delivery == NULL)
        return;
    weir_position_fini(&delivery->position);
    weir_bits_fini(&delivery->received);
    weir_bits_fini(&delivery->handed);
    weir_buf_fini(&delivery->consumed_bytes);
    weir_buf_fini(&delivery->received_bytes);
    weir_buf_fini(&delivery->handed_bytes);
    weir_buf_fini(&delivery->tally_bytes);
    weir_buf_fini(&delivery->again_groups);
    weir_buf_fini(&delivery->again_fences);
    weir_buf_fini(&delivery->commit_bytes);
    weir_buf_fini(&delivery->open_bytes);
    free(delivery->lingering);
    free(delivery->discarded);
    free(delivery->erased.at);
    free(delivery);
}

/* ---- dispatcher ---- */

bool trainer_delivery_beat_due(const struct delivery *delivery, int64_t now_ms)
{
    if (!delivery->open || delivery_is_over(delivery))
        return false;
    return !delivery->beat_begun || delivery->beat_urgent ||
           trainer_delivery_totals_due(delivery, now_ms) ||
           now_ms - delivery->beat_ms >= DELIVERY_BEAT_MS;
}

static struct weir_u64s words(const struct weir_buf *buf)
{
    /* Filled with whole u64 by the functions below, and malloc aligns it. */
    return (struct weir_u64s){.at = (const void *)buf->at, .count = buf->size / sizeof(uint64_t)};
}

/* The groups to make again, each once, with the newest fence one of its batches was dropped under.
 * Numbers ascend, so a group's batches are neighbours. */
static void gather_again(struct delivery *delivery, uint64_t number, uint64_t fence)
{
    uint64_t group = delivery_group_of(delivery, number);
    struct weir_u64s groups = words(&delivery->again_groups);
    if (groups.count > 0 && groups.at[groups.count - 1] == group) {
        uint64_t *newest = (uint64_t *)(void *)delivery->again_fences.at + groups.count - 1;
        *newest = *newest > fence ? *newest : fence;
        return;
    }
    weir_buf_append(&delivery->again_groups, &group, sizeof(group));
    weir_buf_append(&delivery->again_fences, &fence, sizeof(fence));
}

static void gather_state(struct delivery *delivery)
{
    uint64_t oldest = delivery->position.oldest, end = delivery_window_end(delivery);
    weir_bits_copy(&delivery->received, &delivery->position.ahead);
    weir_buf_clear(&delivery->again_groups);
    weir_buf_clear(&delivery->again_fences);
    for (uint64_t number = oldest; number < end; number++) {
        const struct slot *slot = delivery_slot(delivery, number);
        if (delivery_has(slot))
            weir_bits_set(&delivery->received, (size_t)(number - oldest));
        else if (slot->again != 0)
            gather_again(delivery, number, slot->again);
    }
}

/* Rule 10: what the loop has been given, and the next ones that may go there once this beat is
 * acknowledged. */
static void gather_handed(struct delivery *delivery, uint64_t beat)
{
    uint64_t oldest = delivery->position.oldest, claimed = 0;
    weir_buf_clear(&delivery->handed_bytes);
    if (!delivery->claims)
        return;
    weir_bits_copy(&delivery->handed, &delivery->position.ahead);
    for (uint64_t number = oldest; number < delivery_scan_end(delivery); number++) {
        struct slot *slot = delivery_slot(delivery, number);
        if (!delivery_has(slot) || (!slot->handed && claimed >= DELIVERY_CLAIM_MAX))
            continue;
        claimed += !slot->handed;
        slot->claim = slot->claim != 0 ? slot->claim : beat;
        weir_bits_set(&delivery->handed, (size_t)(number - oldest));
    }
    weir_bits_pack(&delivery->handed, &delivery->handed_bytes);
}

void trainer_delivery_beat(struct delivery *delivery, int64_t now_ms,
                           struct msg_client_beat *ret_beat)
{
    gather_state(delivery);
    gather_handed(delivery, delivery->beat + 1);
    weir_buf_clear(&delivery->consumed_bytes);
    weir_buf_clear(&delivery->received_bytes);
    weir_buf_clear(&delivery->tally_bytes);
    weir_bits_pack(&delivery->position.ahead, &delivery->consumed_bytes);
    weir_bits_pack(&delivery->received, &delivery->received_bytes);
    weir_tally_pack(&delivery->position.tally, &delivery->tally_bytes);
    delivery->beat_begun = true;
    delivery->beat_urgent = false;
    delivery->beat_ms = now_ms;
    *ret_beat = (struct msg_client_beat){
        .job = delivery->job,
        .attempt = delivery->attempt,
        .session = delivery->session,
        .number = ++delivery->beat,
        .oldest = delivery->position.oldest,
        .consumed = weir_buf_view(&delivery->consumed_bytes),
        .received = weir_buf_view(&delivery->received_bytes),
        .again_groups = words(&delivery->again_groups),
        .again_fences = words(&delivery->again_fences),
        .tally = weir_buf_view(&delivery->tally_bytes),
        .rank = delivery->rank,
        .handed = weir_buf_view(&delivery->handed_bytes),
    };
    trainer_delivery_announce(delivery, now_ms, ret_beat);
}

void trainer_delivery_ordered(struct delivery *delivery, const struct msg_client_orders *orders)
{
    delivery->superseded |= orders->superseded;
    delivery->regroup |= orders->regroup;
    if (!delivery_is_over(delivery) && orders->number > delivery->beat_answered)
        delivery->beat_answered = orders->number;
    if (!delivery_is_over(delivery))
        trainer_delivery_take_totals(delivery, orders);
}

/* ---- arrivals ---- */

static bool is_ours(const struct delivery *delivery, const struct delivery_batch *batch)
{
    return delivery->open && !delivery_is_over(delivery) && batch->job == delivery->job &&
           batch->attempt == delivery->attempt && batch->session == delivery->session &&
           batch->number < delivery->total &&
           batch->group == delivery_group_of(delivery, batch->number) &&
           batch->samples <= DELIVERY_SAMPLES_MAX && batch->hole_count <= DELIVERY_SAMPLES_MAX;
}

/* Rule 1, below the identity check. Even a copy that is not needed tells of its fence. */
static enum delivery_outcome judge(struct delivery *delivery, struct delivery_batch *batch)
{
    if (weir_position_consumed(&delivery->position, batch->number))
        return DELIVERY_DUPLICATE;
    if (batch->number >= delivery_window_end(delivery))
        return DELIVERY_TOO_FAR;
    if (batch->fence < delivery->fence)
        return DELIVERY_OLD_FENCE;
    struct group_fence *newest = &delivery->groups[batch->group % WEIR_AHEAD_MAX];
    if (newest->group != batch->group)
        *newest = (struct group_fence){.group = batch->group};
    if (batch->fence < newest->fence)
        return DELIVERY_OLD_FENCE;
    newest->fence = batch->fence;
    struct slot *slot = delivery_slot(delivery, batch->number);
    if (delivery_has(slot))
        return DELIVERY_DUPLICATE;
    if (batch->erasure_epoch < delivery->known && trainer_delivery_holds_erased(delivery, batch)) {
        slot->again = batch->fence;
        delivery->beat_urgent = true;
        return DELIVERY_ERASED;
    }
    return DELIVERY_ACCEPTED;
}

enum delivery_outcome trainer_delivery_arrive(struct delivery *delivery,
                                              struct delivery_batch *batch)
{
    enum delivery_outcome outcome = DELIVERY_FOREIGN;
    if (is_ours(delivery, batch)) {
        trainer_delivery_account(delivery, batch);
        outcome = judge(delivery, batch);
    }
    if (outcome != DELIVERY_ACCEPTED) {
        trainer_delivery_take(delivery, batch);
        return outcome;
    }
    struct slot *slot = delivery_slot(delivery, batch->number);
    *slot = (struct slot){.batch = batch};
    if (batch->erasure_epoch < delivery->known)
        batch->erasure_epoch = delivery->known;
    if (delivery->ceiling <= batch->number)
        delivery->ceiling = batch->number + 1;
    return outcome;
}

/* ---- the loop ---- */

/* Share of the batch in the tally of the position. */
static struct weir_tally tally_of(const struct delivery *delivery,
                                  const struct delivery_batch *batch)
{
    static const size_t TALLY[WEIR_SAMPLE_STATES] = {
        [WEIR_SAMPLE_LIVE] = offsetof(struct weir_tally, delivered),
        [WEIR_SAMPLE_ERASED] = offsetof(struct weir_tally, erased),
        [WEIR_SAMPLE_GONE] = offsetof(struct weir_tally, gone),
        [WEIR_SAMPLE_FILTERED] = offsetof(struct weir_tally, filtered),
        [WEIR_SAMPLE_FAILED] = offsetof(struct weir_tally, failed),
    };
    struct weir_tally tally = {.delivered = batch->samples, .digests = batch->digests};
    uint64_t epoch = trainer_delivery_epoch_of(delivery, batch->number);

    tally.fingerprint = weir_fingerprints(batch->ids, batch->samples, epoch);
    for (size_t i = 0; i < batch->hole_count; i++) {
        uint32_t state = batch->hole_states[i];
        /* An unknown state, of a newer worker, or "live" for a hole: nothing was delivered. */
        if (state >= WEIR_SAMPLE_STATES || state == WEIR_SAMPLE_LIVE)
            state = WEIR_SAMPLE_FAILED;
        ++*(uint64_t *)(void *)((char *)&tally + TALLY[state]);
        tally.fingerprint += weir_fingerprint(batch->holes[i], epoch);
    }
    return tally;
}

static void consume(struct delivery *delivery, uint64_t number, struct weir_tally tally)
{
    weir_tally_add(&delivery->position.tally, &tally);
    *delivery_slot(delivery, number) = (struct slot){0};
    weir_require(weir_position_consume(&delivery->position, number));
    if (trainer_delivery_is_complete(delivery))
        delivery->beat_urgent = true;
}

static bool is_shown(const struct delivery *delivery, const struct slot *slot)
{
    return slot->batch->samples > 0 || delivery->ranks > 1;
}

/* Rule 10. One that is not shown needs no permission. */
static bool is_allowed(const struct delivery *delivery, const struct slot *slot)
{
    bool is_answered = slot->claim != 0 && slot->claim <= delivery->beat_answered;
    return !delivery->claims || is_answered || !is_shown(delivery, slot);
}

/* Returns the batch that the loop gets next: the first that it was not given yet, or in relaxed order the first that
 * may be handed out. `*ret_all` tells whether it was given everything. */
static struct slot *find_next(struct delivery *delivery, bool *ret_all)
{
    *ret_all = delivery_window_end(delivery) == delivery->total;
    for (uint64_t number = delivery->position.oldest; number < delivery_window_end(delivery);
         number++) {
        struct slot *slot = delivery_slot(delivery, number);
        if (slot->handed || weir_position_consumed(&delivery->position, number))
            continue;
        *ret_all = false;
        if (slot->batch != NULL && is_allowed(delivery, slot) &&
            trainer_delivery_fill_totals(delivery, slot->batch))
            return slot;
        delivery->beat_urgent |= delivery->claims && slot->batch != NULL && slot->claim == 0;
        if (delivery->deterministic || number >= delivery->ceiling)
            return NULL;
    }
    return NULL;
}

/* The loop is half way through what it may have: ask for more before it has to wait. */
static void claim_ahead(struct delivery *delivery, uint64_t number)
{
    uint64_t ahead = number + DELIVERY_CLAIM_MAX / 2;
    if (!delivery->claims || ahead >= delivery_scan_end(delivery))
        return;
    const struct slot *slot = delivery_slot(delivery, ahead);
    delivery->beat_urgent |= slot->batch != NULL && slot->claim == 0;
}

enum delivery_offer trainer_delivery_next(struct delivery *delivery, int64_t now_ms,
                                          struct delivery_batch **ret_batch)
{
    if (delivery->superseded)
        return DELIVERY_SUPERSEDED;
    if (delivery->regroup)
        return DELIVERY_REGROUP;
    if (!delivery->open)
        return DELIVERY_WAIT;
    for (;;) {
        bool all = false;
        struct slot *slot = find_next(delivery, &all);
        if (all)
            return DELIVERY_END;
        if (now_ms >= delivery->lease_end_ms)
            return DELIVERY_LAPSED;
        if (slot == NULL)
            return DELIVERY_WAIT;
        weir_require(slot->batch->erasure_epoch >= delivery->known || slot->tainted);
        if (is_shown(delivery, slot)) {
            slot->handed = true;
            trainer_delivery_pass_turn(delivery, slot->batch->number);
            claim_ahead(delivery, slot->batch->number);
            *ret_batch = slot->batch;
            return DELIVERY_BATCH;
        }
        struct delivery_batch *empty = slot->batch;
        trainer_delivery_take(delivery, empty);
        consume(delivery, empty->number, tally_of(delivery, empty));
        delivery_discard(delivery, empty);
    }
}

bool trainer_delivery_consume(struct delivery *delivery, uint64_t number)
{
    struct slot *slot = delivery_slot(delivery, number);

    if (number < delivery->position.oldest || number >= delivery_window_end(delivery) ||
        !slot->handed)
        return false;
    if (slot->batch == NULL) {
        consume(delivery, number, slot->tally);
        return true;
    }
    delivery->lingering = weir_grow(delivery->lingering, delivery->lingering_count,
                                    &delivery->lingering_capacity, sizeof(*delivery->lingering));
    delivery->lingering[delivery->lingering_count++] =
        (struct lingering){.batch = slot->batch, .tainted = slot->tainted};
    consume(delivery, number, tally_of(delivery, slot->batch));
    return true;
}

/* Takes a consumed batch out of the loop's hands; false: it is not consumed yet. */
static bool let_go(struct delivery *delivery, const struct delivery_batch *batch)
{
    for (size_t i = 0; i < delivery->lingering_count; i++) {
        if (delivery->lingering[i].batch != batch)
            continue;
        delivery->lingering[i] = delivery->lingering[--delivery->lingering_count];
        return true;
    }
    return false;
}

struct delivery_batch *trainer_delivery_release(struct delivery *delivery,
                                                struct delivery_batch *batch)
{
    if (!let_go(delivery, batch)) {
        struct slot *slot = delivery_slot(delivery, batch->number);
        weir_require(slot->batch == batch && slot->handed);
        slot->tally = tally_of(delivery, batch);
        slot->batch = NULL;
        slot->tainted = false;
    }
    trainer_delivery_take(delivery, batch);
    trainer_delivery_acknowledge(delivery);
    return batch;
}

struct delivery_batch *trainer_delivery_discarded(struct delivery *delivery)
{
    return delivery->discarded_count > 0 ? delivery->discarded[--delivery->discarded_count] : NULL;
}

void trainer_delivery_discard_all(struct delivery *delivery)
{
    for (size_t i = 0; i < WEIR_AHEAD_MAX; i++) {
        if (delivery->slots[i].batch != NULL)
            delivery_discard(delivery, delivery->slots[i].batch);
        delivery->slots[i] = (struct slot){0};
    }
    while (delivery->lingering_count > 0)
        delivery_discard(delivery, delivery->lingering[--delivery->lingering_count].batch);
}

const struct weir_position *trainer_delivery_position(const struct delivery *delivery)
{
    return &delivery->position;
}

bool trainer_delivery_is_complete(const struct delivery *delivery)
{
    return delivery->open && delivery->position.oldest >= delivery->total;
}

bool trainer_delivery_is_superseded(const struct delivery *delivery)
{
    return delivery->superseded;
}

bool trainer_delivery_must_regroup(const struct delivery *delivery)
{
    return delivery->regroup;
}

uint64_t trainer_delivery_epoch_of(const struct delivery *delivery, uint64_t number)
{
    return delivery->batches_per_epoch > 0 ? number / delivery->batches_per_epoch : 0;
}

size_t trainer_delivery_waiting(const struct delivery *delivery)
{
    size_t waiting = 0;
    for (size_t i = 0; i < WEIR_AHEAD_MAX; i++)
        waiting += delivery->slots[i].batch != NULL && !delivery->slots[i].handed;
    return waiting;
}

/* ---- commit ---- */

static bool is_consumed_here(const struct delivery *delivery, const struct weir_position *position)
{
    if (position->oldest > delivery->position.oldest)
        return false;
    for (size_t i = 0; i < position->ahead.count; i++) {
        if (weir_bits_get(&position->ahead, i) &&
            !weir_position_consumed(&delivery->position, position->oldest + i))
            return false;
    }
    return true;
}

enum weir_status trainer_delivery_commit(struct delivery *delivery,
                                         const struct weir_position *position, bool final,
                                         struct weir_error *err)
{
    if (!delivery->open || !is_consumed_here(delivery, position))
        return weir_fail(err, WEIR_INVALID,
                         "commit: the state speaks of batches that were not consumed here");
    if (final && position->oldest < delivery->total)
        return weir_fail(err, WEIR_INVALID, "final commit: %llu of %llu batches are not consumed",
                         (unsigned long long)(delivery->total - position->oldest),
                         (unsigned long long)delivery->total);
    weir_buf_clear(&delivery->commit_bytes);
    weir_position_pack(position, &delivery->commit_bytes);
    delivery->commit++;
    delivery->commit_open = true;
    delivery->commit_final = final;
    return WEIR_OK;
}

uint64_t trainer_delivery_commit_open(const struct delivery *delivery,
                                      struct msg_client_commit *ret_commit)
{
    if (!delivery->commit_open)
        return 0;
    *ret_commit = (struct msg_client_commit){
        .job = delivery->job,
        .attempt = delivery->attempt,
        .session = delivery->session,
        .position = weir_buf_view(&delivery->commit_bytes),
        .final = delivery->commit_final,
        .rank = delivery->rank,
    };
    return delivery->commit;
}

void trainer_delivery_committed(struct delivery *delivery, uint64_t commit,
                                const struct msg_client_committed *answer)
{
    if (answer != NULL && answer->batches > delivery->common)
        delivery->common = answer->batches;
    bool must_wait = answer != NULL && delivery->commit_final && !answer->final;
    if (commit == delivery->commit && !must_wait)
        delivery->commit_open = false;
}

uint64_t trainer_delivery_common(const struct delivery *delivery)
{
    return delivery->common;
}
