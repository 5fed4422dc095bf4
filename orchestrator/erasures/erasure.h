/* Erasures (docs/contracts.md) after storage has accepted them: waited for until in force, models
 * traced, holders purged, models replaced, everything verified, the receipt written. Any number may be
 * open. Those that are in force when models are traced form a batch, which is worked on as one: each
 * model is trained again once for all of them. One batch at a time works on models, between two
 * triggers of every pipeline; erasures that come into force meanwhile form the next one.
 *
 * Owned by: struct orchestrator. Survives: a crash between any two edges. Never sees a clear
 * subject. */
#ifndef ORCHESTRATOR_ERASURES_ERASURE_H
#define ORCHESTRATOR_ERASURES_ERASURE_H

#include "orchestrator/erasures/signing.h"
#include "orchestrator/pipeline/pipeline.h"

/* Takes up what is not finished, and what storage has accepted while no orchestrator listened. Call
 * once. `cluster`: the folder of Postgres; NULL: the server is not Weir's own. */
enum weir_status orchestrator_erasures_load(struct pipelines *pipelines, const char *cluster,
                                            struct erasures **ret_erasures,
                                            struct weir_error *err) WEIR_MUST_USE;
void orchestrator_erasures_free(struct erasures *erasures);
void orchestrator_erasures_look_again(struct erasures *erasures);
/* An order to storage has no answer: perhaps it has accepted an erasure that is unknown here. */
void orchestrator_erasures_doubt(struct erasures *erasures);
/* True while an erasure works on models, so that pipelines have to wait: which ones it concerns is known only late. */
bool orchestrator_erasures_claim(const struct erasures *erasures);

/* Storage has accepted an erasure: records it, with all others of this round of the loop in one transaction, and drives
 * it. `done` is called when it is durable (`err` NULL) or could not be recorded. The names are the owner's until then.
 * May be repeated. */
struct erasure_names {
    int64_t number;
    const char *dataset, *reference;
};
typedef void orchestrator_erasure_accepted_fn(void *owner, const struct weir_error *err);
void orchestrator_erasure_note(struct erasures *erasures, const struct erasure_names *names,
                               orchestrator_erasure_accepted_fn *done, void *owner);
/* Deadline of an erasure: the strictest of all pipelines' promises, for whose samples they are is known
 * only late. 0: nobody promises anything. */
int64_t orchestrator_erasure_due_us(const struct pipelines *pipelines, int64_t accepted_us);
/* True when the clock has passed `due_us`; 0: never. */
bool orchestrator_erasure_is_overdue(const struct context *context, int64_t due_us);
/* Finds a model that is still there and has seen its samples, other than those that are kept on purpose: its name,
 * the caller's to free, or NULL. */
enum weir_status orchestrator_erasure_seen_by(struct context *context, int64_t number,
                                              char **ret_model,
                                              struct weir_error *err) WEIR_MUST_USE;

/* Progress of counting the scores of an erasure's samples. */
struct erasure_scores_place {
    struct pipeline *pipeline; /* pipeline whose scores the selector is asked for now */
    size_t block;              /* index of the next block of the erasure's ids */
};
/* Asks the selector how many scores the pipeline keeps of some blocks of the erasure's ids, and moves on: `block` is 0
 * again once nothing more is to be asked of this pipeline. `done` is given a msg_scores_noted. */
enum weir_status orchestrator_erasure_request_scores(struct context *context, int64_t number,
                                                     struct erasure_scores_place *place,
                                                     weir_rpc_done_fn *done, void *owner,
                                                     struct weir_error *err) WEIR_MUST_USE;

bool orchestrator_erasures_idle(const struct erasures *erasures);

#endif
