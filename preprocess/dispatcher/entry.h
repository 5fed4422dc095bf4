/* One job as the dispatcher keeps it: its declaration, plan, state machine, fit
 * and cost. Owned by struct dispatcher. */
#ifndef WEIR_PREPROCESS_DISPATCHER_ENTRY_H
#define WEIR_PREPROCESS_DISPATCHER_ENTRY_H

#include "preprocess/dispatcher/barred.h"
#include "preprocess/dispatcher/costs.h"
#include "preprocess/dispatcher/job.h"
#include "preprocess/dispatcher/pool.h"
#include "preprocess/dispatcher/scaling.h"
#include "preprocess/dispatcher/shares.h"
#include "preprocess/dispatcher/stages.h"
#include "preprocess/plan/failures.h"
#include "preprocess/plan/fingerprint.h"
#include "preprocess/plan/fit.h"
#include "preprocess/plan/plan.h"
#include "preprocess/plan/tensors.h"

struct dispatcher_entry {
    uint64_t number;
    char *file, *set_path, *set_digest, *mode;
    char *tenant; /* of its pipeline; "": of none */
    char *token;  /* shown by its consumers; "": none */
    /* Keys that sessions of its consumers have been opened under, or heard first since a restart; by rank. */
    struct {
        uint64_t session, key;
    } consumers[WEIR_RANKS_MAX];
    struct weir_buf config;
    struct weir_buf tables; /* as in job_open */
    struct weir_buf fitted; /* empty: nothing is fitted, or not yet */
    struct weir_buf base;   /* fitted state of the model that training starts from, if any … */
    struct tensor_bounds before; /* … and the bounds of tensors by it */
    uint32_t epochs;
    uint32_t ranks;
    uint64_t seed;
    struct shares_quota quota;      /* of its pipeline */
    struct shares_account *account; /* … and its account while the job is in use */
    bool closed;
    bool abandoned;           /* closed, or to be closed, because nobody asks for it */
    int64_t silent_ms;        /* time since anybody asked for it */
    int64_t silent_stored_ms; /* as it is stored */
    bool closing;             /* to be closed as soon as everything is stored */
    bool is_ending;           /* … and its end is being stored */
    bool is_fit_saving;       /* the fitted state is being stored */
    unsigned saving;          /* enum dispatcher_unsaved, which is being stored */
    bool is_at_work;          /* a worker has sent a group of it */
    bool has_expected, is_expected_stored;
    uint64_t expected;         /* fingerprint of the whole delivery */
    struct preprocess_sum sum; /* parts of that fingerprint … */
    uint64_t sum_seats_taken;  /* … as of record.seats_taken */
    char *reason; /* as a worker gave it; NULL: none since this start (preprocess_entry_reason()) */
    struct failures failures;          /* the first samples that failed */
    char failure[WEIR_ERROR_TEXT_MAX]; /* why nothing will ever be delivered; "": it may be */
    bool may_be_mended;                /* by whoever opens the job again: it is that of a file */

    uint32_t shared_jobs; /* most at once that made the same batches, it included; 0: none did */
    size_t crew;          /* first slot of the workers that serve it (pool.h), of a pool … */
    size_t crew_count;    /* … of so many slots */

    double later; /* trainings after this one that a sample is expected to be in */
    double seen;  /* share of the set that the training before it had */

    struct preprocess_plan plan;
    struct chain *divided;       /* the operators with the cut that was chosen; NULL: none was */
    bool is_kept_chosen;         /* the choice of that has been looked at for this job */
    struct weir_digest plan_key; /* of the plan that it shares with others (plans.h) … */
    uint32_t plan_changes;       /* … and how often that had changed when the job began */
    struct dispatcher_job job;
    /* partial fits of groups that wait for a lower one: index group % capacity of a rank */
    struct weir_buf *partials;
    struct dispatcher_costs costs;
    struct stages stages;
    struct scaling_job scaling;
    struct barred *barred; /* NULL: no worker was yet */
};

/* Returns what is not stored yet (enum dispatcher_unsaved). */
unsigned preprocess_entry_unsaved(const struct dispatcher_entry *entry);

/* Returns the first slot of its crew in the pool as it is. */
size_t preprocess_entry_crew(struct dispatcher_entry *entry, const struct pool *pool);
/* Returns the quota of the job's pipeline; a job that names no pipeline is one of its own. */
struct shares_quota preprocess_dispatcher_quota_of(const struct msg_job_open *open);
/* Returns the quota that the job shares the workers by: with the bound of its file, where that is lower. */
struct shares_quota preprocess_entry_bounded(const struct dispatcher_entry *entry);
/* A copy of what `job_open` says, without a plan. A job that trains is fitted on its own set: what is
 * fitted already, the vocabularies go on from. */
struct dispatcher_entry *preprocess_entry_open(const struct msg_job_open *open);
/* The same as it was stored, with what preprocess_entry_keep_fit() left for `fitted`. */
struct dispatcher_entry *preprocess_entry_reload(const struct msg_job_open *stored);
/* Appends the state to be stored: what is fitted, behind bounds by the state that the fit went on from; until something
 * is, that state. */
void preprocess_entry_keep_fit(const struct dispatcher_entry *entry, struct weir_buf *out);
void preprocess_entry_free(struct dispatcher_entry *entry);
WEIR_DEFINE_AUTO(dispatcher_entry, preprocess_entry_free)

/* Plans it, and takes up `record` (zeroed: from the beginning). INVALID, NOT_FOUND, CORRUPT. */
enum weir_status preprocess_entry_plan(struct dispatcher_entry *entry,
                                       struct dispatcher_fences *fences,
                                       const struct dispatcher_record *record,
                                       struct weir_error *err) WEIR_MUST_USE;

/* Works out, a piece a call, the fingerprint that the committed states must add up to once the job is
 * final: of the whole delivery; in at_most_once, of the state that the attempt began from and everything
 * after it. True when entry->expected is it. */
bool preprocess_entry_expect(struct dispatcher_entry *entry);
/* True when a piece of it may be worked out in advance: the job is at work, and nothing that comes changes it. */
bool preprocess_entry_may_expect(const struct dispatcher_entry *entry);

/* Returns why a sample failed, of the first that did; "": none is known to have. */
const char *preprocess_entry_reason(const struct dispatcher_entry *entry);
/* Returns the number of samples that failed, as the consumers have reported. */
uint64_t preprocess_entry_failed(const struct dispatcher_entry *entry);
/* Returns the number of batches that its consumers have reported as consumed, on average over its ranks. */
uint64_t preprocess_entry_consumed(const struct dispatcher_entry *entry);

/* Takes in a partial fit, unless it is here already. */
void preprocess_entry_fit(struct dispatcher_entry *entry, const struct preprocess_fit *fit);
/* True when every partial fit is merged and entry->fitted holds the result, which is to be stored
 * before preprocess_job_fitted(). When it cannot be made, entry->failure says why. */
bool preprocess_entry_finish_fit(struct dispatcher_entry *entry);

/* The operators as workers run them, but for order and place: those of the plan, with a cut where one was chosen. */
const struct chain *preprocess_entry_chain(const struct dispatcher_entry *entry);
/* Has rows be kept after so many operators, as written; 0: after none. False: they cannot be, and none are. */
bool preprocess_entry_divide(struct dispatcher_entry *entry, size_t cut);
/* Returns the number of operators before the place at which rows are kept; 0: none are. */
size_t preprocess_entry_cut(const struct dispatcher_entry *entry);
/* Returns the nanoseconds that hits have saved: what making them would have cost, as the misses did, less reading. */
double preprocess_kept_saved_ns(const struct dispatcher_kept *kept);
/* Sees what its consumers wait for. */
void preprocess_entry_look(struct dispatcher_entry *entry, int64_t now_ms);

#endif
