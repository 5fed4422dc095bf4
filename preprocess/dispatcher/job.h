/* The dispatcher's side of the delivery protocol (C7-C9) for one job, as a pure state machine: no
 * clock, socket, file or log. Time comes in as `now_ms`, messages come in decoded, answers
 * come out. Owned by: struct dispatcher; tests/simulation drives it under seeded faults.
 *
 * A job delivers a sealed set to one consumer per rank. What must survive a crash of the dispatcher
 * is the record (record.h): the rim answers a message once what it says of the record is stored
 * (`unsaved`). Leases are volatile; fences carry the incarnation, so a restarted dispatcher outranks
 * every lease it has forgotten.
 *
 * Rules
 *   1  A consumer asks for the place of its rank. If it is free it is the consumer's; if another
 *      session has it, the next attempt opens, in which all places but this one are free. Places
 *      ever taken are counted (seats_taken). A request that names another count than the newest
 *      changes nothing and is answered with the newest: so one that a dead consumer left in the
 *      network cannot take a place from a living one. The same session again keeps its place. Who had the place and
 *      finds another session there is superseded, for good: of two processes that claim one rank the
 *      later one stays.
 *   2  An attempt begins once every rank has a consumer, and all have named states of equally many
 *      batches: only such states belong to the same step. Who names more than another is sent back
 *      for the other's; so the group begins at the newest state that all can have. Until then, and
 *      for members of an older attempt, there are no leases, no commits: they are told to regroup.
 *   3  Where a consumer begins: exactly_once and at_least_once at the state it names (at_least_once
 *      and none named: at what is committed); at_most_once after every batch that may have been
 *      handed out on any rank, with the tally of the state it names. What the former attempt had
 *      reported as consumed after that state counts as `replayed`; what may have been handed out
 *      after it, in at_least_once as `duplicated`, in at_most_once as lost.
 *   4  Groups are leased lowest first, under a fence higher than any before, only to consumers that
 *      are listening (heard of in this incarnation, and in the last DISPATCHER_SILENT_MS), and only
 *      if the whole group lies below oldest + WEIR_AHEAD_MAX. A worker has a few leases of a job at most,
 *      but the lowest group that a consumer lacks: a pool that is full of finished work, which nobody
 *      takes before that group, would wait for ever.
 *   5  A lease lives DISPATCHER_LEASE_MS (longer in a pool of thousands: pool.h) from the newest
 *      worker_beat that listed it while the consumer was listening. It ends early when its worker
 *      leaves, or its slot shows a new session, when the consumer asks for the group `again` naming
 *      its fence, when the consumer has every batch of the group, or with the attempt. A group
 *      whose batches were all sent is left alone; if a beat of the consumer that arrived more than
 *      2 * DISPATCHER_LEASE_MS later still lacks a batch of it, it is open again.
 *   6  Beats of a consumer carry its full state; an older number than the newest changes nothing.
 *      Unless exactly_once, a beat is stored before it is acknowledged: a later attempt knows what
 *      may have been handed out.
 *   7  A commit moves its rank's pending state forward, never back. When the pending states of all
 *      ranks contain equally many batches, they become the committed one, together. The job is
 *      final when every rank has made its final commit. A consumer that returns after that with all
 *      batches in its state takes its place again, and nothing begins: it died before it could say
 *      that it was done.
 *   8  A job that fits operators first leases the groups of epoch 0, whole batches, for partial fits;
 *      they are taken in group order. Consumers wait until preprocess_job_fitted(). While as many bytes of them wait
 *      as may, for one worker that makes a lower group is slow, no group but the lowest is leased.
 *   9  Of several ranks each announces its next slices as they will be handed out; once all have, the batch's totals
 *      are in every answer. They are volatile: a beat repeats what another rank may still lack.
 *  10  A group that a worker makes for another job of the production, or made lately, is leased to that worker, who has
 *      the batches of it, or will: to nobody else as long as visits say so (`waits_for`). A lease that it is given so
 *      costs it nothing; else these are leases like any other.
 *  11  A worker that drains is leased nothing more, and nobody waits for it (rule 10). Leases that its beat does not
 *      list it has given up, having made nothing of them (flow.h, rule 9): they end at once. It ends the others, and
 *      holds nothing once the consumers have what it has sent, or are overdue.
 *  12  A worker that a consumer cannot reach, or that cannot make the job's batches, is leased nothing of the job, and
 *      nobody waits for it (rule 10); the leases that it has of it end.
 *
 * Invariants: at most one lease per group and rank; fences and attempts only grow; `oldest` of a
 * rank never decreases within an attempt; the committed states of all ranks contain equally many
 * batches, and were named as durable in the current attempt or where it began. */
#ifndef WEIR_PREPROCESS_DISPATCHER_JOB_H
#define WEIR_PREPROCESS_DISPATCHER_JOB_H

#include "preprocess/dispatcher/rank_state.h"
#include "preprocess/dispatcher/record.h"

struct barred;

/* The source of fences, shared by all jobs of a dispatcher: incarnation << 32 | counter. */
struct dispatcher_fences {
    uint64_t newest;
};

/* Refuses what `rank` says it has consumed, such as when too many samples of the job failed. */
typedef enum weir_status dispatcher_bear_fn(void *owner, uint32_t rank,
                                            const struct weir_tally *newest,
                                            struct weir_error *err);

/* Parts of the record that have changed. Who waits until they are stored: commits and audits for all of it, beats for
 * what was handed and for places, leases for places. So beats and leases of exactly_once never wait for a commit. */
enum dispatcher_unsaved {
    DISPATCHER_PLACES = 1,  /* holders of places, and where the attempt began */
    DISPATCHER_HANDED = 2,  /* what may be handed out once the beat is answered (rule 6) */
    DISPATCHER_COMMITS = 4, /* and what the audit must add up to */
};

/* A job as it was opened; never changes. */
struct dispatcher_about {
    uint64_t job;
    struct preprocess_geometry geometry; /* its ranks: how many consumers */
    enum weir_delivery delivery;
    bool fit; /* operators are fitted on epoch 0 before anything is delivered */
    /* of beats and commits of the current attempt alone; NULL: bears any */
    dispatcher_bear_fn *bear;
    void *owner; /* of `bear` */
};

struct dispatcher_job {
    struct dispatcher_about about;
    struct dispatcher_record record;
    unsigned unsaved; /* enum dispatcher_unsaved: the record must be stored before they are told */
    bool report_unsaved;           /* a seat's `reported` has moved: store it some time soon */
    bool fitting;                  /* rule 8 */
    struct production *production; /* rule 10; borrowed; NULL: nobody makes the same batches */
    const struct barred *barred;   /* rule 12; borrowed; NULL: no worker is */
    uint64_t open_fence;           /* told to consumers: fences below belong to earlier attempts */
    struct dispatcher_fences *fences;
    struct dispatcher_rank_state *ranks; /* one per rank */
};

/* `fences` is borrowed for the life of the job. */
void preprocess_job_init(struct dispatcher_job *job, const struct dispatcher_about *about,
                         struct dispatcher_fences *fences);
/* Takes up a stored record (copied). Call directly after init. `is_fitted`: its fit is stored too. */
void preprocess_job_restore(struct dispatcher_job *job, const struct dispatcher_record *record,
                            bool is_fitted);
void preprocess_job_fini(struct dispatcher_job *job);

/* ---- consumers: attempt.c ---- */

struct dispatcher_claim {
    uint64_t session;
    uint32_t rank, ranks;              /* as it believes; ranks 0: 1 */
    uint64_t after;                    /* newest seats_taken that it knows of */
    bool joined;                       /* it knows that it had the place */
    const struct weir_position *state; /* state that it can begin from; NULL: it names none */
};

struct dispatcher_opened {
    uint64_t attempt; /* 0: not begun; ask again naming `newest` */
    uint64_t newest;  /* seats_taken */
    bool joined;      /* it has its place */
    bool superseded;  /* another session has its place, later than it had it: stop */
    bool reload;      /* the others cannot have its state: come with one of `batches` batches */
    uint64_t batches;
    uint64_t fence;
    const struct weir_position *begun; /* where it begins; lives as long as the attempt */
};

/* Rules 1 to 3. UNAVAILABLE: operators are still being fitted; ask again. INVALID: the state lies
 * beyond the end, or the job has no such rank, or the session is 0. */
enum weir_status preprocess_job_client_open(struct dispatcher_job *job,
                                            const struct dispatcher_claim *claim,
                                            struct dispatcher_opened *ret_opened,
                                            struct weir_error *err) WEIR_MUST_USE;
/* Every rank has its place: the attempt has begun. */
bool preprocess_job_is_running(const struct dispatcher_job *job);
/* Fills all of the answer but the workers. INVALID when the beat contradicts itself, or cannot be borne. */
enum weir_status preprocess_job_client_beat(struct dispatcher_job *job,
                                            const struct msg_client_beat *beat, int64_t now_ms,
                                            struct msg_client_orders *ret_orders,
                                            struct weir_error *err) WEIR_MUST_USE;
/* Rule 9. Of a beat that was answered in the current attempt. */
struct dispatcher_totals preprocess_job_totals(const struct dispatcher_job *job);
/* STALE: not the current attempt. INVALID: a position that cannot be, or cannot be borne. */
enum weir_status preprocess_job_client_commit(struct dispatcher_job *job,
                                              const struct msg_client_commit *commit,
                                              struct msg_client_committed *ret_committed,
                                              struct weir_error *err) WEIR_MUST_USE;

/* ---- workers ---- */

struct dispatcher_lease {
    uint32_t rank;
    uint64_t group;
    uint64_t fence;
};

/* Renews and ends leases as the worker says. Returns how many it has now; those that it was given before but does not
 * list (the answer was lost) are `*ret_unlisted`. */
uint32_t preprocess_job_visit(struct dispatcher_job *job, const struct dispatcher_visit *visit,
                              int64_t now_ms, uint32_t *ret_unlisted);
/* Leases the lowest group that each consumer lacks, to who has `has` leases (rule 4); returns how many. */
uint32_t preprocess_job_grant_lowest(struct dispatcher_job *job,
                                     const struct dispatcher_visit *visit, uint32_t has,
                                     int64_t now_ms);
/* Leases the lowest open group, if there is one and room for it. */
bool preprocess_job_grant(struct dispatcher_job *job, const struct dispatcher_visit *visit,
                          uint32_t has, int64_t now_ms);
/* The worker's session has ended in order: so do its leases. */
void preprocess_job_worker_leave(struct dispatcher_job *job, uint32_t worker, uint64_t session);
/* True when the worker has a lease that runs, or has sent a group that a consumer may still get. */
bool preprocess_job_holds(const struct dispatcher_job *job, uint32_t worker, uint64_t session,
                          int64_t now_ms);
/* True when the lowest group that a consumer lacks was leased under that fence or an earlier one: whoever takes batches
 * in their order has nothing of later leases yet. */
bool preprocess_job_lags(struct dispatcher_job *job, uint64_t fence);
/* All leases the worker has now, by rank, lowest group first; returns how many were written. */
size_t preprocess_job_leases(const struct dispatcher_job *job, uint32_t worker, uint64_t session,
                             struct dispatcher_lease leases[DISPATCHER_LEASES_MAX]);

/* ---- fitting ---- */

/* A partial fit arrived. True when it is the first of its group: the caller keeps it until it is
 * taken. */
bool preprocess_job_fit(struct dispatcher_job *job, uint64_t group, uint64_t bytes);
/* The next group, in order, whose partial fit is here and is to be merged now. False: none. */
bool preprocess_job_fit_take(struct dispatcher_job *job, uint64_t *ret_group);
/* Every partial fit was taken: the caller completes the fit, stores it and calls
 * preprocess_job_fitted(). */
bool preprocess_job_fit_complete(const struct dispatcher_job *job);
void preprocess_job_fitted(struct dispatcher_job *job);

/* ---- audit: audit.c ---- */

struct dispatcher_audit {
    uint64_t set; /* samples that must be accounted for: positions of an epoch times epochs */
    struct weir_tally tally; /* of all ranks */
    uint64_t lost;
    uint64_t duplicated;
    uint64_t replayed;
    uint64_t attempts;
    bool kept; /* lost and duplicated are what the job's delivery mode allows */
};

/* Returns the number of samples that a tally accounts for, delivered or not. */
uint64_t preprocess_accounted(const struct weir_tally *tally);
/* Along the surviving attempts, from the committed states. `expected` is the fingerprint that they
 * must add up to (preprocess_entry_expect()); nothing counts as lost unforeseen before the job is
 * final. `lost` is exact; `duplicated` may count a few batches too many (DELIVERY_CLAIM_MAX per
 * death: allowed to be handed out, and never were), none too few. */
struct dispatcher_audit preprocess_job_audit(const struct dispatcher_job *job, uint64_t expected);

#endif
