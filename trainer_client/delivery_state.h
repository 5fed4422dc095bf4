/* The state behind delivery.h, shared by the files delivery*.c and nobody else. Slots and group fences
 * are rings over the window of WEIR_AHEAD_MAX batches that the position moves. */
#ifndef WEIR_TRAINER_CLIENT_DELIVERY_STATE_H
#define WEIR_TRAINER_CLIENT_DELIVERY_STATE_H

#include "trainer_client/delivery.h"

struct slot {
    struct delivery_batch *batch; /* NULL: not here yet, or released */
    bool handed;                  /* to the loop, which has not consumed it yet */
    bool tainted;                 /* handed, and holds an id erased afterwards */
    uint64_t again;               /* fence under which it was dropped; 0: it was not */
    uint64_t claim;               /* first beat that listed it as handed out; 0: none */
    struct weir_tally tally;      /* of a batch that was released before it was consumed */
};

/* A batch that is consumed and still in the loop's hands. */
struct lingering {
    struct delivery_batch *batch;
    bool tainted;
};

struct group_fence {
    uint64_t group;
    uint64_t fence; /* newest seen; 0: none */
};

/* Slices that are announced: batches up to `end`, each at index `number % WEIR_ANNOUNCED_MAX`. The totals of those up
 * to `known` are known, and the loop gets `turn` next. All begin at the oldest batch. Weights are the bits of a
 * double. */
struct totals {
    uint64_t first, turn, known, end;
    struct slice_totals {
        uint64_t samples, weight, longest;
    } slice[WEIR_ANNOUNCED_MAX], total[WEIR_ANNOUNCED_MAX];
    uint64_t listed[3][WEIR_ANNOUNCED_MAX]; /* in the newest beat: samples, weights, longest */
};

enum { RETIRED_MAX = 8 };

struct worker {
    bool present;
    uint64_t session;              /* 0: not known yet */
    uint64_t retired[RETIRED_MAX]; /* earlier sessions, whose late batches cost nothing */
    size_t retired_count;
    uint64_t through; /* bytes sent to us before this have arrived or are lost */
    uint64_t taken;
    uint64_t granted;
    uint64_t granted_sent; /* in the newest credit message */
    int64_t credit_ms;
};

struct id_list {
    uint64_t *at; /* ascending */
    size_t count, capacity;
};

struct delivery {
    uint64_t job, session, window_bytes;
    bool is_window_given; /* by the loop */
    uint32_t rank, ranks;
    struct totals totals; /* of several ranks */
    bool names_state;     /* the loop came with one */
    bool open, superseded, regroup, deterministic;
    bool claims; /* rule 10 */
    bool joined;
    uint64_t after, wanted; /* before it is open: see client_open, client_opened */
    int64_t open_ms;        /* next request */
    uint64_t attempt, fence;
    uint64_t total, batches_per_epoch, group_batches, groups_per_epoch;
    struct weir_position position;

    struct slot slots[WEIR_AHEAD_MAX];
    struct group_fence groups[WEIR_AHEAD_MAX];
    uint64_t ceiling; /* one past the highest number ever accepted */
    struct lingering *lingering;
    size_t lingering_count, lingering_capacity;
    struct delivery_batch **discarded;
    size_t discarded_count, discarded_capacity;

    struct worker workers[DELIVERY_WORKERS_MAX];
    uint32_t worker_count;

    struct id_list erased;
    uint64_t known, acknowledged, named, hinted;
    int64_t lease_end_ms, hold_ms;
    bool hold_begun;

    uint64_t beat, beat_answered;
    int64_t beat_ms;
    bool beat_begun, beat_urgent;
    struct weir_bits received, handed;
    struct weir_buf consumed_bytes, received_bytes, handed_bytes, tally_bytes, again_groups,
        again_fences;

    uint64_t commit; /* number of the newest commit */
    bool commit_open, commit_final;
    struct weir_buf commit_bytes, open_bytes;
    uint64_t common;
};

/* No longer hands out or accepts anything (rule 7). */
static inline bool delivery_is_over(const struct delivery *delivery)
{
    return delivery->superseded || delivery->regroup;
}

static inline struct slot *delivery_slot(struct delivery *delivery, uint64_t number)
{
    return &delivery->slots[number % WEIR_AHEAD_MAX];
}

/* True when the batch need not come again: it waits here, or the loop has been given it. */
static inline bool delivery_has(const struct slot *slot)
{
    return slot->batch != NULL || slot->handed;
}

static inline uint64_t delivery_window_end(const struct delivery *delivery)
{
    uint64_t end = delivery->position.oldest + WEIR_AHEAD_MAX;
    return end < delivery->total ? end : delivery->total;
}

static inline uint64_t delivery_scan_end(const struct delivery *delivery)
{
    uint64_t end = delivery_window_end(delivery);
    return end < delivery->ceiling ? end : delivery->ceiling;
}

static inline uint64_t delivery_group_of(const struct delivery *delivery, uint64_t number)
{
    return number / delivery->batches_per_epoch * delivery->groups_per_epoch +
           number % delivery->batches_per_epoch / delivery->group_batches;
}

/* Puts a batch on the list that trainer_delivery_discarded() empties. */
static inline void delivery_discard(struct delivery *delivery, struct delivery_batch *batch)
{
    delivery->discarded = weir_grow(delivery->discarded, delivery->discarded_count,
                                    &delivery->discarded_capacity, sizeof(batch));
    delivery->discarded[delivery->discarded_count++] = batch;
}

/* ---- delivery_totals.c ---- */

void trainer_delivery_totals_begin(struct delivery *delivery);
/* True when slices are here to be announced, or totals to be asked for. */
bool trainer_delivery_totals_due(const struct delivery *delivery, int64_t now_ms);
void trainer_delivery_announce(struct delivery *delivery, int64_t now_ms,
                               struct msg_client_beat *beat);
void trainer_delivery_take_totals(struct delivery *delivery,
                                  const struct msg_client_orders *orders);
/* True when the batch may be handed out; then this sets its totals. */
bool trainer_delivery_fill_totals(const struct delivery *delivery, struct delivery_batch *batch);
/* The batch is handed out. */
void trainer_delivery_pass_turn(struct delivery *delivery, uint64_t number);
bool trainer_delivery_is_announced(const struct delivery *delivery, uint64_t number);

/* ---- delivery_credit.c ---- */

/* Rule 4. Moves the counters of the batch's worker over the gap before it and says what the batch
 * itself will cost. */
void trainer_delivery_account(struct delivery *delivery, struct delivery_batch *batch);
/* The batch is done with: its bytes become credit. */
void trainer_delivery_take(struct delivery *delivery, struct delivery_batch *batch);

/* ---- delivery_erasure.c, which uses delivery_credit.c ---- */

bool trainer_delivery_holds_erased(const struct delivery *delivery,
                                   const struct delivery_batch *batch);
/* Raises the acknowledged epoch unless the loop holds a tainted batch. */
void trainer_delivery_acknowledge(struct delivery *delivery);

#endif
