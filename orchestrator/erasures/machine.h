/* The states of an erasure and the edges between them, as one table. Pure. Storage has
 * states of its own (core/wire/erasure.h); these begin when storage has accepted, and end with the receipt. */
#ifndef ORCHESTRATOR_ERASURES_MACHINE_H
#define ORCHESTRATOR_ERASURES_MACHINE_H

#include <stdbool.h>

// clang-format off
#define ERASURE_STATE_LIST(X)                                                          \
    X(ACCEPTED,  "durable; holders are being informed")                                    \
    X(TRACING,   "in force; the models that have seen the samples are looked for")     \
    X(PURGING,   "checkpoints and outputs are removed")                                \
    X(REPLACING, "models are trained again without the samples")                       \
    X(VERIFYING, "old models are removed, lineage and storage are asked again")        \
    X(FINISHED,  "the receipt is written")

#define ERASURE_EVENT_LIST(X) X(IN_FORCE) X(TRACED) X(PURGED) X(REPLACED) X(VERIFIED)
// clang-format on

enum erasure_state {
#define X(name, doc) ERASURE_##name,
    ERASURE_STATE_LIST(X)
#undef X
        ERASURE_STATES
};

enum erasure_event {
#define X(name) ERASURE_ON_##name,
    ERASURE_EVENT_LIST(X)
#undef X
        ERASURE_EVENTS
};

/* The state that `event` leads to from `state`. False: it leads nowhere from there. */
bool orchestrator_erasure_next_state(enum erasure_state state, enum erasure_event event,
                                     enum erasure_state *ret_state);
/* True in states that work on models: pipelines must not begin another trigger. */
bool orchestrator_erasure_claims_models(enum erasure_state state);
const char *orchestrator_erasure_state_name(enum erasure_state state);
const char *orchestrator_erasure_state_text(enum erasure_state state);
bool orchestrator_erasure_state_from_name(const char *name, enum erasure_state *ret_state);

#endif
