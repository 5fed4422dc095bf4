/* The states of a pipeline and the edges between them, as one table. Pure: pipeline.c commits an edge in Postgres with
 * its effect, each state's work lives in the file of the same name. */
#ifndef ORCHESTRATOR_PIPELINE_MACHINE_H
#define ORCHESTRATOR_PIPELINE_MACHINE_H

#include "core/base/bytes.h"

#include <stdbool.h>
#include <stddef.h>

// clang-format off
#define PIPELINE_STATE_LIST(X)                                                          \
    X(DECLARING,  "the datasets are declared to storage")                                \
    X(SCANNING,   "storage takes stock for the first time")                             \
    X(READING,    "samples pass the trigger policy")                                    \
    X(MEASURING,  "samples are measured that the trigger policy wants to know more of")  \
    X(SELECTING,  "the selector seals the set of the newest trigger")                   \
    X(SCORING,    "a model scores samples that the set is chosen among")               \
    X(HOLDING,    "a model learns from samples that are held out")                     \
    X(TRAINING,   "a trainer learns from that set")                                     \
    X(RENEWING,   "the model of a round is kept, so that it chooses the next set")      \
    X(STORING,    "its model gets its name and place")                                  \
    X(EVALUATING, "the new model is to be measured on what came after it")                    \
    X(CLOSING,    "models that are not measured yet are measured")               \
    X(FINISHED,   "everything there was is done")                                       \
    X(PAUSED,     "a person has paused it between two triggers")                        \
    X(STOPPED,    "stopped, by a person or because its budget is spent")                \
    X(FAILED,     "something that asking again does not cure; weir resume tries again") \
    X(REMOVING,   "what nobody needs is given back")                                    \
    X(REMOVED,    "it is gone but for what lineage needs; its name is free")

#define PIPELINE_EVENT_LIST(X)                                                          \
    X(DECLARED) X(SCANNED) X(ASKED) X(MEASURED)                                         \
    X(TRIGGERED) X(SKIPPED) X(SEALED) X(SCORES_NEEDED)                                  \
    X(SCORED) X(HOLDOUT_MODEL_NEEDED) X(HOLDOUT_MODEL_READY) X(TRAINED)                 \
    X(ROUND_TRAINED) X(RENEWED)                                                         \
    X(STORED) X(EVALUATED) X(EXHAUSTED) X(CLOSED)                                       \
    X(PAUSED) X(STOPPED) X(FAILED) X(RESUMED) X(APPLIED)                                \
    X(REMOVED) X(CLEARED)
// clang-format on

enum pipeline_state {
#define X(name, doc) PIPELINE_##name,
    PIPELINE_STATE_LIST(X)
#undef X
        PIPELINE_STATES
};

enum pipeline_event {
#define X(name) PIPELINE_ON_##name,
    PIPELINE_EVENT_LIST(X)
#undef X
        PIPELINE_EVENTS
};

/* The state that `event` leads to from `state`. False: it leads nowhere from there. */
bool orchestrator_pipeline_next_state(enum pipeline_state state, enum pipeline_event event,
                                      enum pipeline_state *ret_state);
/* Nothing more happens unless a person asks for it. */
bool orchestrator_pipeline_at_rest(enum pipeline_state state);
/* Between two triggers: an erasure may replace models now. */
bool orchestrator_pipeline_between_triggers(enum pipeline_state state);

/* Appends the table as a diagram (Mermaid) and the states in words. */
void orchestrator_pipeline_states_describe(struct weir_buf *out);

const char *orchestrator_pipeline_state_name(enum pipeline_state state); /* "READING" */
const char *orchestrator_pipeline_state_text(enum pipeline_state state); /* one sentence */
const char *orchestrator_pipeline_event_name(enum pipeline_event event);
bool orchestrator_pipeline_state_from_name(const char *name, enum pipeline_state *ret_state);

#endif
