/* The table of an erasure's edges. */
#include "orchestrator/erasures/machine.h"

#include "core/base/bytes.h"

static const struct {
    enum erasure_state from;
    enum erasure_event on;
    enum erasure_state to;
} TRANSITIONS[] = {
    {ERASURE_ACCEPTED, ERASURE_ON_IN_FORCE, ERASURE_TRACING},
    {ERASURE_TRACING, ERASURE_ON_TRACED, ERASURE_PURGING},
    {ERASURE_PURGING, ERASURE_ON_PURGED, ERASURE_REPLACING},
    {ERASURE_REPLACING, ERASURE_ON_REPLACED, ERASURE_VERIFYING},
    {ERASURE_VERIFYING, ERASURE_ON_VERIFIED, ERASURE_FINISHED},
};

static const struct {
    const char *name, *text;
} STATES[] = {
#define X(name, text) {#name, text},
    ERASURE_STATE_LIST(X)
#undef X
};

bool orchestrator_erasure_next_state(enum erasure_state state, enum erasure_event event,
                                     enum erasure_state *ret_state)
{
    for (size_t i = 0; i < WEIR_COUNT(TRANSITIONS); i++) {
        if (TRANSITIONS[i].from == state && TRANSITIONS[i].on == event) {
            *ret_state = TRANSITIONS[i].to;
            return true;
        }
    }
    return false;
}

bool orchestrator_erasure_claims_models(enum erasure_state state)
{
    return state == ERASURE_TRACING || state == ERASURE_PURGING || state == ERASURE_REPLACING;
}

const char *orchestrator_erasure_state_name(enum erasure_state state)
{
    return STATES[state].name;
}

const char *orchestrator_erasure_state_text(enum erasure_state state)
{
    return STATES[state].text;
}

bool orchestrator_erasure_state_from_name(const char *name, enum erasure_state *ret_state)
{
    for (size_t i = 0; i < WEIR_COUNT(STATES); i++) {
        if (weir_str_equal(STATES[i].name, name)) {
            *ret_state = (enum erasure_state)i;
            return true;
        }
    }
    return false;
}
