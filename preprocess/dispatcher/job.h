/* The dispatcher's side of the delivery protocol (C7-C9) for one job, as a pure state machine: no
 * clock, socket, file or log. Time comes in as `now_ms`; what a message means comes in, what to
 * answer comes out. Owned by: struct dispatcher; tests/simulation drives it under seeded faults.
 *
 * A job delivers a sealed set to one consumer at a time. What must survive a crash of the
 * dispatcher is the record (struct dispatcher_record): whenever `unsaved` is set, the rim stores
 * the record before it answers the message. Leases are volatile; fences carry the incarnation, so
 * a restarted dispatcher outranks every lease it has forgotten.
 *
 * Rules
 *   1  A consumer opens the attempt that follows the newest one it knows of: every group not fully
 *      in its position is open again, all leases are void, `replayed` grows by what the former
 *      attempt had consumed behind that position. The same session again gets the same attempt.
 *      A request that names another attempt than the newest changes nothing and is told the newest:
 *      so one that a dead consumer left in the network cannot supersede a living one.
 *   2  Groups are leased lowest first, under a fence higher than any before, only while the consumer
 *      is listening (heard of in this incarnation, and in the last DISPATCHER_SILENT_MS), and only
 *      if the whole group lies below oldest + WEIR_AHEAD_MAX. The lowest group that the consumer lacks is leased to the next worker that
 *      beats even if it wants none: a pool that is full of finished work, which nobody takes before
 *      that group, would wait for ever.
 *   3  A lease lives DISPATCHER_LEASE_MS from the newest worker_beat that listed it while the
 *      consumer was listening. It ends early
 *      when its worker slot shows a new session, when the consumer asks for the group `again`
 *      naming its fence, when the consumer has every batch of the group, or with the attempt.
 *   4  A group whose batches were all sent is left alone; if a beat of the consumer that arrived
 *      more than 2 * DISPATCHER_LEASE_MS later still lacks a batch of it, it is open again.
 *   5  Beats of the consumer carry its full state; an older number than the newest changes nothing.
 *   6  A commit of the current attempt moves the committed position forward, never back. `final`
 *      ends the job; a new session may open it again (it died before it could say it was done).
 *   7  A job that fits operators first leases the groups of epoch 0 for partial fits; they are
 *      taken in group order. Consumers wait until dispatcher_job_fitted().
 *
 * Invariants: at most one lease per group; fences only grow; `oldest` never decreases within an
 * attempt; the committed position is one that the current attempt, or the one it started from,
 * named as durable. */
#ifndef WEIR_PREPROCESS_DISPATCHER_JOB_H
#define WEIR_PREPROCESS_DISPATCHER_JOB_H

#include "core/wire/position.h"
#include "core/wire/wire.h"
#include "preprocess/geometry.h"

enum {
    DISPATCHER_LEASE_MS = 2000,
    DISPATCHER_SENT_PATIENCE_MS = 2 * DISPATCHER_LEASE_MS,
    DISPATCHER_SILENT_MS = 10000, /* a consumer beats many times in this time */
    DISPATCHER_LEASES_MAX = 64,   /* of one worker in one job */
};

/* The source of fences, shared by all jobs of a dispatcher: incarnation << 32 | counter. */
struct dispatcher_fences {
    uint64_t newest;
};

/* What a job is; never changes. */
struct dispatcher_about {
    uint64_t job;
    struct preprocess_geometry geometry;
    bool fit; /* operators are fitted on epoch 0 before anything is delivered */
};

/* What must be durable. */
struct dispatcher_record {
    uint64_t attempt; /* 0: no consumer yet */
    uint64_t session; /* its consumer */
    struct weir_position committed;
    struct weir_tally
        consumed; /* newest report of the attempt: serves `replayed` alone, may be a little old */
    uint64_t replayed;
    bool final;
};

enum dispatcher_group_state {
    DISPATCHER_GROUP_OPEN,
    DISPATCHER_GROUP_LEASED,
    DISPATCHER_GROUP_SENT,
    DISPATCHER_GROUP_FITTED, /* its partial fit is here */
};

struct dispatcher_group {
    enum dispatcher_group_state state;
    bool here; /* the consumer has every batch of it */
    uint32_t worker;
    uint64_t session; /* of the worker */
    uint64_t fence;
    int64_t until_ms; /* leased: end; sent: when patience is over */
};

struct dispatcher_job {
    struct dispatcher_about about;
    struct dispatcher_record record;
    bool unsaved;        /* the record must be stored before the next answer */
    bool report_unsaved; /* record.consumed has moved: store it some time soon */
    bool fitting;        /* rule 7 */
    bool heard;          /* the consumer of this attempt was heard of in this incarnation */
    int64_t heard_ms;    /* when; INT64_MIN: just now */
    uint64_t open_fence; /* told to the consumer: fences below belong to earlier attempts */
    uint64_t beat_number;
    uint64_t oldest;           /* first batch that is not consumed */
    struct weir_bits received; /* relative to oldest: consumed or waiting at the consumer */
    int64_t wait_ns;           /* that the consumer has waited for batches, as reported */
    struct dispatcher_fences *fences;

    /* Groups first_group … first_group + capacity - 1, each at index `group % capacity`. */
    uint64_t first_group;
    size_t capacity;
    struct dispatcher_group *groups;
};

/* `fences` is borrowed for the life of the job. */
void dispatcher_job_init(struct dispatcher_job *job, const struct dispatcher_about *about,
                         struct dispatcher_fences *fences);
/* Takes up a stored record (copied). Call directly after init. `is_fitted`: its fit is stored too.
 */
void dispatcher_job_restore(struct dispatcher_job *job, const struct dispatcher_record *record,
                            bool is_fitted);
void dispatcher_job_fini(struct dispatcher_job *job);

void dispatcher_record_copy(struct dispatcher_record *to, const struct dispatcher_record *from);
void dispatcher_record_fini(struct dispatcher_record *record);

/* ---- consumer ---- */

struct dispatcher_opened {
    uint64_t attempt; /* 0: `after` was not the newest attempt; ask again naming `newest` */
    uint64_t newest;
    uint64_t fence;
};

/* Opens the attempt that follows `after` (rule 1). UNAVAILABLE: operators are still being fitted;
 * ask again. INVALID: the position lies beyond the end. */
enum weir_status dispatcher_job_client_open(struct dispatcher_job *job, uint64_t session,
                                            uint64_t after, const struct weir_position *position,
                                            struct dispatcher_opened *ret_opened,
                                            struct weir_error *err) WEIR_MUST_USE;
/* Fills `number` and `superseded` of the answer. INVALID when the beat contradicts itself. */
enum weir_status dispatcher_job_client_beat(struct dispatcher_job *job,
                                            const struct msg_client_beat *beat, int64_t now_ms,
                                            struct msg_client_orders *ret_orders,
                                            struct weir_error *err) WEIR_MUST_USE;
/* STALE: not the current attempt. INVALID: a position that cannot be. */
enum weir_status dispatcher_job_client_commit(struct dispatcher_job *job,
                                              const struct msg_client_commit *commit,
                                              struct weir_error *err) WEIR_MUST_USE;

/* ---- workers ---- */

struct dispatcher_held {
    uint64_t group;
    uint64_t fence;
    bool sent; /* all of its batches */
};

/* What a worker's beat says about this job. */
struct dispatcher_visit {
    uint32_t worker; /* its slot */
    uint64_t session;
    const struct dispatcher_held *held;
    size_t held_count;
};

struct dispatcher_lease {
    uint64_t group;
    uint64_t fence;
};

/* Renews and ends leases as the worker says, then gives it up to `want` new ones (rule 2 knows one
 * exception). Leases that it was given before but does not list (the answer was lost) count against
 * `want`. Returns what is left of `want`. */
uint32_t dispatcher_job_worker_beat(struct dispatcher_job *job,
                                    const struct dispatcher_visit *visit, uint32_t want,
                                    int64_t now_ms);
/* All leases the worker has now, lowest group first; returns how many were written. */
size_t dispatcher_job_leases(const struct dispatcher_job *job, uint32_t worker, uint64_t session,
                             struct dispatcher_lease leases[DISPATCHER_LEASES_MAX]);
/* Ends leases whose time is over. Needed only before somebody looks: worker_beat does it by itself.
 */
void dispatcher_job_expire(struct dispatcher_job *job, int64_t now_ms);

/* ---- fitting ---- */

/* A partial fit arrived. True when it is the first of its group: the caller keeps it until it is
 * taken. */
bool dispatcher_job_fit(struct dispatcher_job *job, uint64_t group);
/* The next group, in order, whose partial fit is here and is to be merged now. False: none. */
bool dispatcher_job_fit_take(struct dispatcher_job *job, uint64_t *ret_group);
/* Every partial fit was taken: the caller completes the fit, stores it and calls
 * dispatcher_job_fitted(). */
bool dispatcher_job_fit_complete(const struct dispatcher_job *job);
void dispatcher_job_fitted(struct dispatcher_job *job);

/* ---- audit ---- */

struct dispatcher_audit {
    uint64_t set; /* samples that must be accounted for: positions of an epoch times epochs */
    struct weir_tally tally;
    uint64_t lost;
    uint64_t duplicated;
    uint64_t replayed;
    uint64_t attempts;
};

/* Along the surviving attempts, from the committed position. `expected` is the fingerprint of the
 * whole set; nothing counts as lost before the final commit. */
struct dispatcher_audit dispatcher_job_audit(const struct dispatcher_job *job, uint64_t expected);

#endif
