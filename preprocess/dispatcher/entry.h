/* One job as the dispatcher keeps it: what it was told, its plan, its state machine, its fit, what
 * it has cost. Owned by struct dispatcher. */
#ifndef WEIR_PREPROCESS_DISPATCHER_ENTRY_H
#define WEIR_PREPROCESS_DISPATCHER_ENTRY_H

#include "preprocess/dispatcher/job.h"
#include "preprocess/dispatcher/pool.h"
#include "preprocess/dispatcher/shares.h"
#include "preprocess/dispatcher/stages.h"
#include "preprocess/plan/failures.h"
#include "preprocess/plan/fingerprint.h"
#include "preprocess/plan/fit.h"
#include "preprocess/plan/plan.h"

/* What one worker session has spent on the job: cumulative. */
struct dispatcher_cost {
    uint64_t session; /* 0: all that are over, together */
    int64_t cpu_ns;
    uint64_t bytes_read;
    uint64_t bytes_sent;
    int64_t operator_ns[CHAIN_OPERATORS_MAX];
    uint64_t operator_bytes[CHAIN_OPERATORS_MAX];
    uint64_t operator_taken[CHAIN_OPERATORS_MAX]; /* not stored: workers tell it again */
    int64_t read_ns, queued_ns;                   /* not stored: they say what is slow now */
    bool unsaved;
};

struct dispatcher_entry {
    uint64_t number;
    char *file, *set_path, *set_digest, *mode;
    struct weir_buf config;
    struct weir_buf fitted; /* empty: nothing is fitted, or not yet */
    struct weir_buf base;   /* fitted state of the model that training starts from, if any */
    uint32_t epochs;
    uint32_t ranks;
    uint64_t seed;
    struct shares_quota quota;      /* of its pipeline */
    struct shares_account *account; /* … which has this while the job is in use */
    bool closed;
    bool abandoned;           /* closed, or to be, because nobody asked for it any more */
    int64_t silent_ms;        /* for how long nobody has */
    int64_t silent_stored_ms; /* as it is stored */
    bool closing;             /* to be closed as soon as everything is stored */
    bool has_expected;
    uint64_t expected;                 /* fingerprint of the whole delivery */
    struct preprocess_sum sum;         /* that it is made of … */
    uint64_t sum_turn;                 /* … as of this turn */
    char *reason;                      /* why a sample failed, newest; NULL: none did */
    struct failures failures;          /* the first samples that did */
    char failure[WEIR_ERROR_TEXT_MAX]; /* why nothing will ever be delivered; "": it may be */
    bool may_be_mended;                /* by whoever opens the job again: it is that of a file */

    size_t crew;       /* first slot of the workers that serve it (pool.h), of a pool … */
    size_t crew_count; /* … of so many slots */

    struct preprocess_plan plan;
    struct dispatcher_job job;
    struct weir_buf *partials; /* waiting for their turn: index group % capacity of a lane */
    struct dispatcher_cost *costs;
    size_t cost_count, cost_capacity;
    size_t costs_kept; /* rows that were left when they were folded last */
    bool costs_folded; /* since they were stored */
    struct stages stages;
};

/* How its pipeline shares the workers; a job that names none is a pipeline of its own. */
struct shares_quota dispatcher_quota_of(const struct msg_job_open *open);
/* A copy of what `job_open` says, without a plan. A job that trains is fitted on its own set: what is
 * fitted already, the vocabularies go on from. */
struct dispatcher_entry *dispatcher_entry_open(const struct msg_job_open *open);
/* The same as it was stored, with what dispatcher_entry_keep_fit() left for `fitted`. */
struct dispatcher_entry *dispatcher_entry_reload(const struct msg_job_open *stored);
/* Appends what has to be stored: the fitted state, or until there is one, what it goes on from. */
void dispatcher_entry_keep_fit(const struct dispatcher_entry *entry, struct weir_buf *out);
void dispatcher_entry_free(struct dispatcher_entry *entry);
WEIR_DEFINE_AUTO(dispatcher_entry, dispatcher_entry_free)

/* Plans it, and takes up `record` (zeroed: from the beginning). INVALID, NOT_FOUND, CORRUPT. */
enum weir_status dispatcher_entry_plan(struct dispatcher_entry *entry,
                                       struct dispatcher_fences *fences,
                                       const struct dispatcher_record *record,
                                       struct weir_error *err) WEIR_MUST_USE;

/* Works out, a piece a call, the fingerprint that the committed states must add up to once the job is
 * final: of the whole delivery; in at_most_once, of what the attempt began from and all that lay behind
 * that. True when entry->expected is it. */
bool dispatcher_entry_expect(struct dispatcher_entry *entry);

/* Takes in a partial fit, unless it is here already. */
void dispatcher_entry_fit(struct dispatcher_entry *entry, const struct preprocess_fit *fit);
/* True when every partial fit is merged and entry->fitted holds the result, which is to be stored
 * before dispatcher_job_fitted(). When it cannot be made, entry->failure says why. */
bool dispatcher_entry_finish_fit(struct dispatcher_entry *entry);

/* What all worker sessions have spent; session 0. */
struct dispatcher_cost dispatcher_entry_total(const struct dispatcher_entry *entry);
/* Sees what its consumers wait for. */
void dispatcher_entry_look(struct dispatcher_entry *entry, int64_t now_ms);
/* The cost row of a worker session, made if it is not there. */
struct dispatcher_cost *dispatcher_entry_cost(struct dispatcher_entry *entry, uint64_t session);
/* Makes one row of all whose sessions are over, when there are too many: those that the pool, which has listened for
 * POOL_FORGET_MS at the least, does not know. Workers come and go by the thousand over a long job. */
void dispatcher_entry_fold_costs(struct dispatcher_entry *entry, const struct pool *pool);

#endif
