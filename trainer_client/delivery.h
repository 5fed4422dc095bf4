/* The consumer's side of the delivery protocol (C7-C9, erasure) as a pure state machine: no clock,
 * socket, file, thread or log. Time comes in as `now_ms`, messages as decoded structs, batches as
 * structs whose content stays the caller's; what is to be sent comes out as filled message structs.
 * client.c is its rim; tests/simulation drives it under seeded faults.
 * Owned by: struct weir_client, under its mutex.
 *
 * Rules
 *   1. A batch is accepted when job, attempt and session are ours, its number lies in
 *      [oldest, oldest + WEIR_AHEAD_MAX) and is neither here nor consumed, its fence is not below
 *      the attempt's nor below the newest seen for its group, and it holds no id known as erased.
 *      Anything else stays with whoever brought it.
 *   2. The loop gets each batch at most once: in number order (deterministic), or lowest ready
 *      number first (relaxed). A single consumer is not shown batches of nothing but holes: they
 *      are consumed in their turn.
 *   3. Consumed is said of a batch that was handed out, before or after it is released: position,
 *      tally and fingerprint grow. A released batch is the rim's again, its bytes become credit.
 *   4. Credit per worker session: granted = taken + share, or what the others leave of the window. Of a window that
 *      nobody gave a size, twice as much, and a small share always: what a worker got when fewer shared it may stay
 *      unused for long where batches are small, and those that join are needed at once.
 *      Bytes that were sent and never arrived show as a gap in `batch.sent` and count as taken, bytes
 *      of refused batches too. A loop that cannot go on without the first missing batch says that it
 *      starves: that one batch passes.
 *   5. Nothing is handed out before the first use lease, after its end, or stamped below the newest
 *      epoch known.
 *   6. A new epoch drops every waiting batch that holds an erased id (it is asked for again),
 *      restamps the others, and is acknowledged once no batch in the loop's hands holds one either.
 *   7. A consumer that is superseded, or whose group forms again, accepts nothing and hands out
 *      nothing, for good.
 *   8. It is open once every rank has its place in the attempt (dispatcher: job.h). Until then it
 *      asks again and again, following the newest turn it is told of.
 *   9. With several ranks every batch of every rank is handed out, one of nothing but holes too: so
 *      all ranks take equally many steps, and a state's number of batches is its step.
 *      A batch is handed out, in number order, once its totals over all ranks are known. For that each
 *      announces its slices in advance; a slice that is announced is the loop's: it keeps what it holds, and an
 *      erasure waits until it is released. Where the use lease may have ended before that, the ranks begin again.
 *  10. Unless exactly_once: a batch is handed out only after the dispatcher has acknowledged a beat
 *      that lists it as handed out. The next DELIVERY_CLAIM_MAX that are here are listed.
 *
 * Invariants: consumed, waiting and handed numbers are disjoint; `oldest`, every `granted` and
 * `taken` of a worker session, known and acknowledged epoch never decrease; taken <= bytes sent;
 * acknowledged <= known; no waiting batch holds an id erased at or before `known`. */
#ifndef WEIR_TRAINER_CLIENT_DELIVERY_H
#define WEIR_TRAINER_CLIENT_DELIVERY_H

#include "core/wire/delivery.h"
#include "core/wire/position.h"
#include "core/wire/wire.h"

enum {
    DELIVERY_BEAT_MS = 300,         /* between client_beats */
    DELIVERY_HOLD_MS = 500,         /* between holds */
    DELIVERY_CREDIT_MS = 200,       /* between credits to one worker */
    DELIVERY_OPEN_MS = 50,          /* between two requests for a place in the attempt */
    DELIVERY_TOTALS_MS = 2,         /* between two requests for totals */
    DELIVERY_ANSWER_MS = 600,       /* an answer to a hold that takes longer is not taken */
    DELIVERY_CLAIM_MAX = 32,        /* batches that may count as handed out and never were */
    DELIVERY_WORKERS_MAX = 256,     /* worker slots; the rim numbers them */
    DELIVERY_SAMPLES_MAX = 1 << 24, /* ids and holes of one batch */
    /* The window that nobody gave a size, at first: a worker goes on while its batches wait for another's. */
    DELIVERY_WINDOW_MIN = 64 << 20,
    DELIVERY_SHARE_ALWAYS = 1 << 20, /* bytes */
    DELIVERY_WINDOW_BATCHES = 8,
    DELIVERY_WINDOW_MAX = 256 << 20,
};

/* One batch as it arrived. Allocated by the rim; the arrays live in whatever `payload` stands for.
 * Between ACCEPTED and its return by trainer_delivery_release() or trainer_delivery_discarded() it is lent to the
 * machine. */
struct delivery_batch {
    uint64_t job, attempt, session; /* as in `batch` */
    uint64_t worker_session;
    uint64_t number, group, fence;
    uint64_t erasure_epoch;      /* it is stamped with; raised by the machine (rule 6) */
    uint64_t bytes, sent;        /* of the credit */
    const uint64_t *ids;         /* `samples` of them */
    const uint64_t *holes;       /* `hole_count` of them */
    const uint32_t *hole_states; /* a weir_sample_state each */
    size_t samples, hole_count;
    double weight;                  /* of its samples, added up */
    struct weir_digest_sum digests; /* its own, if the rim keeps one while the loop has it */
    uint64_t longest;               /* elements of the longest row of its ragged tensors */
    uint64_t total_samples; /* these three: over all ranks; set by trainer_delivery_next() */
    double total_weight;
    uint64_t total_longest;
    uint32_t worker; /* slot of the worker it came from */
    uint64_t charge; /* private: bytes to take when it is done with */
    void *payload;   /* the rim's own */
};

enum delivery_outcome {
    DELIVERY_ACCEPTED,  /* lent to the machine; every other outcome leaves it with the caller */
    DELIVERY_DUPLICATE, /* here or consumed already */
    DELIVERY_OLD_FENCE,
    DELIVERY_FOREIGN, /* another job, attempt or session, or a number or group that does not exist
                       */
    DELIVERY_TOO_FAR, /* WEIR_AHEAD_MAX or more ahead of the oldest */
    DELIVERY_ERASED,  /* holds an erased id: it is asked for again */
};

enum delivery_offer {
    DELIVERY_BATCH,      /* *ret_batch is the loop's until trainer_delivery_release() */
    DELIVERY_WAIT,       /* the next one is not here yet */
    DELIVERY_LAPSED,     /* no use lease now: wait for storage */
    DELIVERY_END,        /* every batch was handed out */
    DELIVERY_SUPERSEDED, /* a later session has taken over */
    DELIVERY_REGROUP,    /* a rank has returned: begin again from the common state */
};

struct delivery;

/* `position` is the state the loop starts from (copied); NULL: it has none, the beginning or what
 * was committed, as the job's mode has it. `window_bytes` is what may be in flight and waiting, over
 * all workers together; 0: chosen when it is open, by the size of a batch. */
struct delivery *trainer_delivery_new(uint64_t job, uint64_t session, uint64_t window_bytes,
                                      const struct weir_position *position);
void trainer_delivery_free(
    struct delivery
        *delivery); /* lent batches are the rim's to free: see trainer_delivery_discard_all() */
WEIR_DEFINE_AUTO(delivery, trainer_delivery_free)

/* ---- dispatcher ---- */

/* Makes the client one of `ranks` consumers of the job. Before the first trainer_delivery_open(). */
void trainer_delivery_take_part(struct delivery *delivery, uint32_t rank, uint32_t ranks);
/* The request for its place, whose position is borrowed; due until it is open. */
bool trainer_delivery_open_due(const struct delivery *delivery, int64_t now_ms);
void trainer_delivery_open(struct delivery *delivery, int64_t now_ms,
                           struct msg_client_open *ret_open);
/* The dispatcher's answer; trainer_delivery_is_open() tells whether it was the last needed. INVALID when its
 * numbers make no sense or the position lies beyond the end. STALE: another session has the place.
 * RESTART: the other ranks cannot have this state, see trainer_delivery_wanted(). Until it is open nothing
 * is accepted. Answers that come late or again change nothing. */
enum weir_status trainer_delivery_opened(struct delivery *delivery,
                                         const struct msg_client_opened *opened,
                                         struct weir_error *err) WEIR_MUST_USE;
bool trainer_delivery_is_open(const struct delivery *delivery);
/* Bytes; 0: not chosen yet. */
uint64_t trainer_delivery_window(const struct delivery *delivery);
/* Changes it. Credit that was given is not taken back: a smaller one becomes true as batches are released. */
void trainer_delivery_resize(struct delivery *delivery, uint64_t window_bytes);
/* Batches of a group; 0: workers' batches are not waited for in number order. */
uint64_t trainer_delivery_ordered_group(const struct delivery *delivery);
/* Batches in the state that the other ranks can have. */
uint64_t trainer_delivery_wanted(const struct delivery *delivery);
/* The full state, under a new number. Arrays are borrowed until the next call of trainer_delivery_beat();
 * `wait_ns` is left to the rim. */
bool trainer_delivery_beat_due(const struct delivery *delivery, int64_t now_ms);
void trainer_delivery_beat(struct delivery *delivery, int64_t now_ms,
                           struct msg_client_beat *ret_beat);
void trainer_delivery_ordered(struct delivery *delivery, const struct msg_client_orders *orders);

/* ---- workers ---- */

/* A worker slot appears or goes. The window is shared by the present ones. */
void trainer_delivery_worker_join(struct delivery *delivery, uint32_t worker);
void trainer_delivery_worker_leave(struct delivery *delivery, uint32_t worker);
enum delivery_outcome trainer_delivery_arrive(struct delivery *delivery,
                                              struct delivery_batch *batch);
/* Bytes that a worker may still send by its newest credit, as far as is known here. */
uint64_t trainer_delivery_credit_left(const struct delivery *delivery, uint32_t worker);
bool trainer_delivery_credit_due(const struct delivery *delivery, uint32_t worker, int64_t now_ms);
void trainer_delivery_credit(struct delivery *delivery, uint32_t worker, int64_t now_ms,
                             struct msg_credit *ret_credit);

/* ---- storage ---- */

/* `hold` is due at the usual pace, and at once when trainer_delivery_hint() has told of a newer epoch or
 * the acknowledged epoch has grown. The rim sends one at a time and reports the answer with the
 * time the request was sent. */
bool trainer_delivery_hold_due(const struct delivery *delivery, int64_t now_ms);
void trainer_delivery_hold(struct delivery *delivery, int64_t now_ms,
                           struct msg_hold *ret_hold); /* `holder` left to the rim */
void trainer_delivery_held(struct delivery *delivery, int64_t sent_ms,
                           const struct msg_hold_is *answer);
void trainer_delivery_hint(struct delivery *delivery,
                           uint64_t erasure_epoch);                       /* `erased` came in */
uint64_t trainer_delivery_erasure_epoch(const struct delivery *delivery); /* newest known */
uint64_t trainer_delivery_acknowledged(
    const struct delivery *delivery); /* what the next hold will name */

/* ---- the loop ---- */

/* True while the totals of batches that are announced are missing: the next beat may bring them. */
bool trainer_delivery_lacks_totals(const struct delivery *delivery);
enum delivery_offer trainer_delivery_next(struct delivery *delivery, int64_t now_ms,
                                          struct delivery_batch **ret_batch);
/* Counts a batch as consumed. False unless trainer_delivery_next() gave it out and it is not consumed yet. */
bool trainer_delivery_consume(struct delivery *delivery, uint64_t number);
/* Returns a batch that trainer_delivery_next() gave out (required) to the rim. */
struct delivery_batch *trainer_delivery_release(struct delivery *delivery,
                                                struct delivery_batch *batch);
/* Batches the machine has given up (erased, empty), one per call, for the rim to free; NULL: no
 * more. */
struct delivery_batch *trainer_delivery_discarded(struct delivery *delivery);
/* Gives up everything still lent, held batches included: only before trainer_delivery_free(). */
void trainer_delivery_discard_all(struct delivery *delivery);

const struct weir_position *trainer_delivery_position(const struct delivery *delivery);
bool trainer_delivery_is_complete(const struct delivery *delivery); /* everything is consumed */
bool trainer_delivery_is_superseded(const struct delivery *delivery);
bool trainer_delivery_must_regroup(const struct delivery *delivery);
uint64_t trainer_delivery_epoch_of(const struct delivery *delivery,
                                   uint64_t number); /* pass over the set, from 0 */
size_t trainer_delivery_waiting(
    const struct delivery *delivery); /* batches here that the loop has not asked for */

/* ---- commit ---- */

/* State that contains `position` is durable. INVALID unless all of it is consumed here; `final`
 * needs all batches. The commit is asked until it is answered, a final one until every rank has made
 * its own; a newer one replaces it. */
enum weir_status trainer_delivery_commit(struct delivery *delivery,
                                         const struct weir_position *position, bool final,
                                         struct weir_error *err) WEIR_MUST_USE;
/* The number of the open commit and its message, whose position is borrowed until the next
 * trainer_delivery_commit(); 0: none is open. */
uint64_t trainer_delivery_commit_open(const struct delivery *delivery,
                                      struct msg_client_commit *ret_commit);
/* Takes the answer to a commit; that to a replaced commit is ignored. NULL: it was refused. */
void trainer_delivery_committed(struct delivery *delivery, uint64_t commit,
                                const struct msg_client_committed *answer);
/* Batches in the newest state that all ranks have committed, as last heard. */
uint64_t trainer_delivery_common(const struct delivery *delivery);

#endif
