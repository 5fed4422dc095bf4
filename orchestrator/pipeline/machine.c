/* The table of a pipeline's edges. */
#include "orchestrator/pipeline/machine.h"

#include "core/base/bytes.h"

struct transition {
    enum pipeline_state from;
    enum pipeline_event on;
    enum pipeline_state to;
};

// clang-format off
static const struct transition TRANSITIONS[] = {
    {PIPELINE_DECLARING,  PIPELINE_ON_DECLARED,  PIPELINE_SCANNING},
    {PIPELINE_SCANNING,   PIPELINE_ON_SCANNED,   PIPELINE_READING},
    {PIPELINE_READING,    PIPELINE_ON_ASKED,     PIPELINE_MEASURING},
    {PIPELINE_MEASURING,  PIPELINE_ON_ASKED,     PIPELINE_MEASURING}, /* a check of another policy of the ensemble */
    {PIPELINE_MEASURING,  PIPELINE_ON_MEASURED,  PIPELINE_READING},
    {PIPELINE_MEASURING,  PIPELINE_ON_TRIGGERED, PIPELINE_SELECTING},
    {PIPELINE_READING,    PIPELINE_ON_TRIGGERED, PIPELINE_SELECTING},
    {PIPELINE_READING,    PIPELINE_ON_EXHAUSTED, PIPELINE_CLOSING},
    {PIPELINE_SELECTING,  PIPELINE_ON_SKIPPED,   PIPELINE_READING},
    {PIPELINE_SELECTING,  PIPELINE_ON_SEALED,    PIPELINE_TRAINING},
    {PIPELINE_SELECTING,  PIPELINE_ON_UNSCORED,  PIPELINE_SCORING},
    {PIPELINE_SCORING,    PIPELINE_ON_SCORED,    PIPELINE_SELECTING},
    {PIPELINE_SELECTING,  PIPELINE_ON_UNHELD,    PIPELINE_HOLDING},
    {PIPELINE_HOLDING,    PIPELINE_ON_HELD,      PIPELINE_SELECTING},
    {PIPELINE_TRAINING,   PIPELINE_ON_SKIPPED,   PIPELINE_READING}, /* every sample turned out to be a hole */
    {PIPELINE_TRAINING,   PIPELINE_ON_TRAINED,   PIPELINE_STORING},
    {PIPELINE_STORING,    PIPELINE_ON_STORED,    PIPELINE_EVALUATING},
    {PIPELINE_EVALUATING, PIPELINE_ON_EVALUATED, PIPELINE_READING},
    {PIPELINE_CLOSING,    PIPELINE_ON_CLOSED,    PIPELINE_FINISHED},

    /* The way back begins by telling storage and selector again; READING finds the trigger that was not finished. */
    {PIPELINE_FAILED,     PIPELINE_ON_RESUMED,   PIPELINE_DECLARING},
    {PIPELINE_STOPPED,    PIPELINE_ON_RESUMED,   PIPELINE_DECLARING},
    {PIPELINE_PAUSED,     PIPELINE_ON_RESUMED,   PIPELINE_DECLARING},

    {PIPELINE_DECLARING,  PIPELINE_ON_FAILED,    PIPELINE_FAILED},
    {PIPELINE_SCANNING,   PIPELINE_ON_FAILED,    PIPELINE_FAILED},
    {PIPELINE_READING,    PIPELINE_ON_FAILED,    PIPELINE_FAILED},
    {PIPELINE_MEASURING,  PIPELINE_ON_FAILED,    PIPELINE_FAILED},
    {PIPELINE_SELECTING,  PIPELINE_ON_FAILED,    PIPELINE_FAILED},
    {PIPELINE_SCORING,    PIPELINE_ON_FAILED,    PIPELINE_FAILED},
    {PIPELINE_HOLDING,    PIPELINE_ON_FAILED,    PIPELINE_FAILED},
    {PIPELINE_TRAINING,   PIPELINE_ON_FAILED,    PIPELINE_FAILED},
    {PIPELINE_STORING,    PIPELINE_ON_FAILED,    PIPELINE_FAILED},
    {PIPELINE_EVALUATING, PIPELINE_ON_FAILED,    PIPELINE_FAILED},
    {PIPELINE_CLOSING,    PIPELINE_ON_FAILED,    PIPELINE_FAILED},

    /* A pause waits for the trigger under way. */
    {PIPELINE_DECLARING,  PIPELINE_ON_PAUSED,    PIPELINE_PAUSED},
    {PIPELINE_SCANNING,   PIPELINE_ON_PAUSED,    PIPELINE_PAUSED},
    {PIPELINE_READING,    PIPELINE_ON_PAUSED,    PIPELINE_PAUSED},
    {PIPELINE_CLOSING,    PIPELINE_ON_PAUSED,    PIPELINE_PAUSED},

    {PIPELINE_DECLARING,  PIPELINE_ON_STOPPED,   PIPELINE_STOPPED},
    {PIPELINE_SCANNING,   PIPELINE_ON_STOPPED,   PIPELINE_STOPPED},
    {PIPELINE_READING,    PIPELINE_ON_STOPPED,   PIPELINE_STOPPED},
    {PIPELINE_MEASURING,  PIPELINE_ON_STOPPED,   PIPELINE_STOPPED},
    {PIPELINE_SELECTING,  PIPELINE_ON_STOPPED,   PIPELINE_STOPPED},
    {PIPELINE_SCORING,    PIPELINE_ON_STOPPED,   PIPELINE_STOPPED},
    {PIPELINE_HOLDING,    PIPELINE_ON_STOPPED,   PIPELINE_STOPPED},
    {PIPELINE_TRAINING,   PIPELINE_ON_STOPPED,   PIPELINE_STOPPED},
    {PIPELINE_STORING,    PIPELINE_ON_STOPPED,   PIPELINE_STOPPED},
    {PIPELINE_EVALUATING, PIPELINE_ON_STOPPED,   PIPELINE_STOPPED},
    {PIPELINE_CLOSING,    PIPELINE_ON_STOPPED,   PIPELINE_STOPPED},
    {PIPELINE_PAUSED,     PIPELINE_ON_STOPPED,   PIPELINE_STOPPED},

    {PIPELINE_DECLARING,  PIPELINE_ON_REMOVED,   PIPELINE_REMOVING},
    {PIPELINE_SCANNING,   PIPELINE_ON_REMOVED,   PIPELINE_REMOVING},
    {PIPELINE_READING,    PIPELINE_ON_REMOVED,   PIPELINE_REMOVING},
    {PIPELINE_MEASURING,  PIPELINE_ON_REMOVED,   PIPELINE_REMOVING},
    {PIPELINE_SELECTING,  PIPELINE_ON_REMOVED,   PIPELINE_REMOVING},
    {PIPELINE_SCORING,    PIPELINE_ON_REMOVED,   PIPELINE_REMOVING},
    {PIPELINE_HOLDING,    PIPELINE_ON_REMOVED,   PIPELINE_REMOVING},
    {PIPELINE_TRAINING,   PIPELINE_ON_REMOVED,   PIPELINE_REMOVING},
    {PIPELINE_STORING,    PIPELINE_ON_REMOVED,   PIPELINE_REMOVING},
    {PIPELINE_EVALUATING, PIPELINE_ON_REMOVED,   PIPELINE_REMOVING},
    {PIPELINE_CLOSING,    PIPELINE_ON_REMOVED,   PIPELINE_REMOVING},
    {PIPELINE_FINISHED,   PIPELINE_ON_REMOVED,   PIPELINE_REMOVING},
    {PIPELINE_PAUSED,     PIPELINE_ON_REMOVED,   PIPELINE_REMOVING},
    {PIPELINE_STOPPED,    PIPELINE_ON_REMOVED,   PIPELINE_REMOVING},
    {PIPELINE_FAILED,     PIPELINE_ON_REMOVED,   PIPELINE_REMOVING},
    {PIPELINE_REMOVING,   PIPELINE_ON_CLEARED,   PIPELINE_REMOVED}, /* and no other: it is tried for ever */
};
// clang-format on

static const struct {
    const char *name, *text;
} STATES[] = {
#define X(name, text) {#name, text},
    PIPELINE_STATE_LIST(X)
#undef X
};

static const char *const EVENTS[] = {
#define X(name) #name,
    PIPELINE_EVENT_LIST(X)
#undef X
};

bool pipeline_next_state(enum pipeline_state state, enum pipeline_event event,
                         enum pipeline_state *ret_state)
{
    for (size_t i = 0; i < WEIR_COUNT(TRANSITIONS); i++) {
        if (TRANSITIONS[i].from == state && TRANSITIONS[i].on == event) {
            *ret_state = TRANSITIONS[i].to;
            return true;
        }
    }
    return false;
}

bool pipeline_at_rest(enum pipeline_state state)
{
    return state == PIPELINE_FINISHED || state == PIPELINE_PAUSED || state == PIPELINE_STOPPED ||
           state == PIPELINE_FAILED || state == PIPELINE_REMOVED;
}

bool pipeline_between_triggers(enum pipeline_state state)
{
    return state <= PIPELINE_READING || state == PIPELINE_CLOSING || pipeline_at_rest(state);
}

const char *pipeline_state_name(enum pipeline_state state)
{
    return STATES[state].name;
}

const char *pipeline_state_text(enum pipeline_state state)
{
    return STATES[state].text;
}

const char *pipeline_event_name(enum pipeline_event event)
{
    return EVENTS[event];
}

bool pipeline_state_from_name(const char *name, enum pipeline_state *ret_state)
{
    for (size_t i = 0; i < WEIR_COUNT(STATES); i++) {
        if (weir_str_equal(STATES[i].name, name)) {
            *ret_state = (enum pipeline_state)i;
            return true;
        }
    }
    return false;
}

/* What is the same everywhere is said in words: that leaves a diagram which can be read. */
static bool is_drawn(const struct transition *edge)
{
    static const enum pipeline_event EVERYWHERE[] = {PIPELINE_ON_FAILED, PIPELINE_ON_PAUSED,
                                                     PIPELINE_ON_STOPPED, PIPELINE_ON_RESUMED,
                                                     PIPELINE_ON_REMOVED};
    for (size_t i = 0; i < WEIR_COUNT(EVERYWHERE); i++)
        if (edge->on == EVERYWHERE[i])
            return false;
    return true;
}

void pipeline_states_describe(struct weir_buf *out)
{
    weir_buf_append_text(out, "```mermaid\nstateDiagram-v2\n    [*] --> DECLARING\n");
    for (size_t i = 0; i < WEIR_COUNT(TRANSITIONS); i++) {
        const struct transition *edge = &TRANSITIONS[i];
        if (is_drawn(edge))
            weir_buf_printf(out, "    %s --> %s: %s\n", STATES[edge->from].name,
                            STATES[edge->to].name, EVENTS[edge->on]);
    }
    weir_buf_append_text(
        out,
        "    FINISHED --> [*]\n    REMOVED --> [*]\n```\n\n| state | meaning | leads to |\n|---|---|---|\n");
    for (size_t state = 0; state < PIPELINE_STATES; state++) {
        const char *between = "";
        weir_buf_printf(out, "| `%s` | %s | ", STATES[state].name, STATES[state].text);
        for (size_t i = 0; i < WEIR_COUNT(TRANSITIONS); i++) {
            if (TRANSITIONS[i].from != state)
                continue;
            weir_buf_printf(out, "%s%s: `%s`", between, EVENTS[TRANSITIONS[i].on],
                            STATES[TRANSITIONS[i].to].name);
            between = ", ";
        }
        weir_buf_append_text(out, " |\n");
    }
}
