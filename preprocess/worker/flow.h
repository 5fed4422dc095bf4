/* The worker's side of the delivery protocol (C7, C9, use leases) as a pure state machine: no clock,
 * socket, file or log. Time comes in as `now_ms`, messages as decoded structs, batches as structs
 * whose content stays the caller's. Owned by: struct worker; tests/simulation drives it under
 * seeded faults.
 *
 * A worker is stateless: everything here may be lost at any time. It holds leases on groups, makes
 * their batches in order, and sends them to the lease's consumer as far as its credit goes.
 *
 * Rules
 *   1  Orders list every lease the worker has. A lease that is not listed is void: it is dropped
 *      with its unsent batches. All are dropped lease_ms after the newest answered beat was sent.
 *   2  Batches of a lease are made in number order, those the consumer has already are skipped. Per
 *      consumer at most WORKER_READY_MAX finished batches wait, unless the next one is older than
 *      all that wait. The consumer with the fewest waiting comes first, then the one with the oldest lease. A worker
 *      that has nothing to make wants more leases, whatever waits to be sent.
 *   3  The oldest waiting batch of a consumer is sent if nothing is in flight to it, or if it fits
 *      the bytes granted, or if its loop starves for it. So credit never locks out the one batch
 *      that the consumer needs to go on, and at most that one exceeds it.
 *   4  `sent`, `granted`, `taken` count bytes of this worker session to one consumer session.
 *      Counters that the consumer keeps for another worker session are ignored.
 *   5  A batch that was sent under a lease still held, and that is the first one its consumer lacks
 *      WORKER_RESEND_MS later, was lost: it is made again.
 *   6  Nothing is sent without a running use lease from storage, nor while a newer erasure epoch is
 *      announced than is known. A batch is stamped with the newest erasure epoch and holds no id erased
 *      up to it: batches that hold one are dropped and made again with holes. Only afterwards is
 *      the erasure epoch acknowledged, by naming it in `hold`.
 *   7  A lease of attempt 0 asks for a partial fit: its batches are folded, never sent.
 *   8  Leases on the same group of jobs that make the same batches (a production, C20) are one piece of work: they
 *      count once where the worker says what it wants. What is made is for all (window.h); whether, and when, a batch
 *      is sent is a matter of each lease alone.
 *   9  A worker that drains (job.h, rule 11) wants nothing, and gives up leases of which it has made nothing, but the
 *      one that it makes next: it ends what it has begun.
 *
 * Invariants: no waiting batch belongs to a void lease or holds an id erased at or before `erasure_epoch`;
 * sent <= granted, but for one batch (rule 3), and where a consumer has made its window smaller, for those that it
 * starved for since: then sent - taken is no more than it was; `erasure_epoch` never decreases. */
#ifndef WEIR_PREPROCESS_WORKER_FLOW_H
#define WEIR_PREPROCESS_WORKER_FLOW_H

#include "core/wire/wire.h"
#include "preprocess/order/geometry.h"

enum {
    /* twice what it is given of many jobs: the one that all wait for has room */
    WORKER_LEASES_MAX = 128,
    WORKER_LEASES_WANTED = 2, /* with something to be made: one, while the next is fetched */
    WORKER_READY_MAX = 2,
    WORKER_CONSUMERS_MAX = 256,
    WORKER_RESEND_MS = 4000,
    WORKER_FORGET_MS = 10000, /* a consumer that gave no credit for longer is forgotten */
};

struct worker_lease {
    uint64_t fence; /* unique; 0: the slot is free */
    uint64_t job;
    uint64_t attempt; /* 0: a partial fit is asked for */
    uint64_t group;
    uint64_t session;                /* of the consumer */
    uint32_t rank;                   /* of the consumer; its slice of each batch is made */
    uint64_t production;             /* of the job; 0: its batches are made for it alone */
    struct preprocess_range batches; /* count 0: not begun */
    uint64_t made;                   /* bit i: batch first + i waits, was sent, or was folded */
    uint64_t sent;                   /* bit i: was sent, or was folded */
    int64_t sent_ms;                 /* newest */
};

/* A finished batch that waits for credit. */
struct worker_ready {
    uint64_t fence; /* of its lease */
    uint64_t batch;
    uint64_t bytes;
    const uint64_t *ids; /* live samples in it; the caller's, as is `payload` */
    size_t id_count;
    void *payload;
    size_t slot; /* private: of its lease, which goes with it */
};

struct worker_consumer {
    uint64_t job;
    uint64_t attempt;
    uint64_t session; /* 0: the slot is free */
    uint64_t key;     /* key of its first credit (weir_rpc_quota_key()): another one has no say */
    uint64_t granted;
    uint64_t taken;
    uint64_t sent;
    uint64_t missing; /* first batch it lacks */
    bool starving;    /* its loop cannot go on without that batch */
    int64_t heard_ms;
};

struct worker_flow {
    uint64_t session; /* of this worker */
    struct worker_lease leases[WORKER_LEASES_MAX];
    int64_t leases_until_ms;
    struct worker_consumer consumers[WORKER_CONSUMERS_MAX];
    size_t next_consumer; /* first to be sent something */
    struct worker_ready *ready;
    size_t ready_count, ready_capacity;
    void **discarded; /* payloads the caller has to free */
    size_t discarded_count, discarded_capacity;
    uint64_t *erased; /* ascending: every id erased up to `erasure_epoch` */
    size_t erased_count;
    uint64_t erasure_epoch; /* newest known, and acknowledged by the next hold */
    uint64_t hinted;        /* newest erasure epoch announced */
    int64_t use_until_ms;   /* end of the use lease */
    bool drains;            /* rule 9 */
    uint32_t hold_pause_ms; /* minimum until it is renewed, as storage said; 0: it did not */
};

void preprocess_flow_init(struct worker_flow *flow, uint64_t session);
void preprocess_flow_fini(
    struct worker_flow *flow); /* call preprocess_flow_drop_all() and free the discarded first */

/* ---- dispatcher ---- */

/* Groups it would like in addition to those it has. */
uint32_t preprocess_flow_want(const struct worker_flow *flow);
/* `sent_ms`: when the answered beat was sent. Orders for another worker session are ignored. */
void preprocess_flow_orders(struct worker_flow *flow, const struct msg_worker_orders *orders,
                            int64_t sent_ms);
/* NULL when it is void by now. */
struct worker_lease *preprocess_flow_lease(struct worker_flow *flow, uint64_t fence);
/* True when every batch of the lease was sent, or folded. */
bool preprocess_worker_lease_done(const struct worker_lease *lease);
/* Drops leases whose time is over, and consumers that went silent. */
void preprocess_flow_expire(struct worker_flow *flow, int64_t now_ms);
/* Drops everything it holds. */
void preprocess_flow_drop_all(struct worker_flow *flow);
/* Payloads that were given up, one per call, for the caller to free; NULL: no more. */
void *preprocess_flow_discarded(struct worker_flow *flow);

/* ---- making ---- */

/* Everything needed to make the lease's batches is there. A void fence is ignored. */
void preprocess_flow_begin(struct worker_flow *flow, uint64_t fence,
                           struct preprocess_range batches);
/* The lease's job makes the same batches as others of this production. A void fence is ignored. */
void preprocess_flow_share(struct worker_flow *flow, uint64_t fence, uint64_t production);
/* True when both are the same piece of work (rule 8). */
bool preprocess_worker_is_same_work(const struct worker_lease *lease,
                                    const struct worker_lease *other);
/* True when a consumer of the job lacks the batch and is at most `reach` batches behind. One that is awaited, for none
 * has come yet, begins at the first. */
bool preprocess_flow_needs(const struct worker_flow *flow, uint64_t job, uint64_t batch,
                           uint64_t reach, bool is_awaited);
/* True when the job has a lease on the group and rank of which the batch is still to be made. */
bool preprocess_flow_is_to_make(const struct worker_flow *flow, uint64_t job, uint64_t group,
                                uint32_t rank, uint64_t batch);
/* The locations known for the lease are out of date: nothing more is made of it until it begins again. */
void preprocess_flow_suspend(struct worker_flow *flow, uint64_t fence);
struct worker_make {
    uint64_t fence;
    uint64_t batch;
};
/* The batch to make (or fold) next; false when there is none or enough wait already. */
bool preprocess_flow_next_make(const struct worker_flow *flow, struct worker_make *ret_make);
/* Returns the lease that it works on: of the batch that is made next, else the oldest of those that wait for their
 * samples and are not held up by credit. NULL: it waits for credit, or for leases. */
const struct worker_lease *preprocess_flow_work(const struct worker_flow *flow);
/* Returns the slot of its consumer, if a batch of `bytes` could be sent as soon as it is made; -1: it would wait. */
int preprocess_flow_would_send(const struct worker_flow *flow, const struct worker_make *what,
                               uint64_t bytes, int64_t now_ms);
/* A batch is finished; its content is lent until it is sent or discarded. False, and the caller's
 * to free, when its lease is void or it holds an id that was erased meanwhile. */
bool preprocess_flow_made(struct worker_flow *flow, const struct worker_ready *ready);
/* A batch of a partial fit is folded. */
void preprocess_flow_folded(struct worker_flow *flow, uint64_t fence, uint64_t batch);

/* ---- sending ---- */

/* Returns the consumer's slot, where the caller keeps its route; -1 when there is no room, or the session is another
 * key's. One for which a lease is held finds room in place of one for which none is. */
int preprocess_flow_credit(struct worker_flow *flow, const struct msg_credit *credit, uint64_t key,
                           int64_t now_ms);
/* True when a lease is held for this consumer. */
bool preprocess_flow_serves(const struct worker_flow *flow, size_t consumer);
struct worker_send {
    size_t ready; /* index into flow->ready */
    size_t consumer;
    uint64_t erasure_epoch; /* to stamp it with */
    uint64_t sent;          /* before it: cumulative bytes */
};
/* Finds a batch that may be sent now; false: none. Consumers take turns. */
bool preprocess_flow_next_send(struct worker_flow *flow, int64_t now_ms,
                               struct worker_send *ret_send);
/* Notes that `send` was sent. The entry is gone afterwards, its payload is the caller's. */
void preprocess_flow_sent(struct worker_flow *flow, const struct worker_send *send, int64_t now_ms);

/* ---- storage ---- */

/* The answer to a `hold` that named flow->erasure_epoch and was sent at `sent_ms`. */
void preprocess_flow_held(struct worker_flow *flow, const struct msg_hold_is *answer,
                          int64_t sent_ms);
void preprocess_flow_hint(struct worker_flow *flow, uint64_t erasure_epoch); /* `erased` came in */
bool preprocess_flow_is_erased(const struct worker_flow *flow, uint64_t id);
/* True when an erasure epoch newer than the acknowledged one is known: ask now. */
bool preprocess_flow_is_behind(const struct worker_flow *flow);

#endif
