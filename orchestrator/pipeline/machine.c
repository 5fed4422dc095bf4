/* The table of a pipeline's edges. */
#include "orchestrator/pipeline/machine.h"

#include "core/base/bytes.h"

// clang-format off
/* Sets of states. */
enum {
#define X(name, text) FROM_##name = 1 << PIPELINE_##name,
    PIPELINE_STATE_LIST(X)
#undef X
    FROM_AT_WORK = FROM_DECLARING | FROM_SCANNING | FROM_READING | FROM_MEASURING | FROM_SELECTING | FROM_SCORING |
                   FROM_HOLDING | FROM_TRAINING | FROM_RENEWING | FROM_STORING | FROM_EVALUATING | FROM_CLOSING,
    FROM_AT_REST = FROM_FINISHED | FROM_PAUSED | FROM_STOPPED | FROM_FAILED,
};

struct transition {
    unsigned from; /* a set */
    enum pipeline_event on;
    enum pipeline_state to;
};

static const struct transition TRANSITIONS[] = {
    {FROM_DECLARING,  PIPELINE_ON_DECLARED,             PIPELINE_SCANNING},
    {FROM_SCANNING,   PIPELINE_ON_SCANNED,              PIPELINE_READING},
    {FROM_READING,    PIPELINE_ON_ASKED,                PIPELINE_MEASURING},
    {FROM_MEASURING,  PIPELINE_ON_ASKED,                PIPELINE_MEASURING}, /* another policy of the ensemble checks */
    {FROM_MEASURING,  PIPELINE_ON_MEASURED,             PIPELINE_READING},
    {FROM_MEASURING,  PIPELINE_ON_TRIGGERED,            PIPELINE_SELECTING},
    {FROM_READING,    PIPELINE_ON_TRIGGERED,            PIPELINE_SELECTING},
    {FROM_READING,    PIPELINE_ON_EXHAUSTED,            PIPELINE_CLOSING},
    {FROM_SELECTING,  PIPELINE_ON_SKIPPED,              PIPELINE_READING},
    {FROM_SELECTING,  PIPELINE_ON_SEALED,               PIPELINE_TRAINING},
    {FROM_SELECTING,  PIPELINE_ON_SCORES_NEEDED,        PIPELINE_SCORING},
    {FROM_SCORING,    PIPELINE_ON_SCORED,               PIPELINE_SELECTING},
    {FROM_SELECTING,  PIPELINE_ON_HOLDOUT_MODEL_NEEDED, PIPELINE_HOLDING},
    {FROM_HOLDING,    PIPELINE_ON_HOLDOUT_MODEL_READY,  PIPELINE_SELECTING},
    {FROM_TRAINING,   PIPELINE_ON_SKIPPED,              PIPELINE_READING}, /* every sample turned out to be a hole */
    {FROM_TRAINING,   PIPELINE_ON_ROUND_TRAINED,        PIPELINE_RENEWING},
    {FROM_RENEWING,   PIPELINE_ON_RENEWED,              PIPELINE_SELECTING},
    {FROM_TRAINING,   PIPELINE_ON_TRAINED,              PIPELINE_STORING},
    {FROM_STORING,    PIPELINE_ON_STORED,               PIPELINE_EVALUATING},
    {FROM_EVALUATING, PIPELINE_ON_EVALUATED,            PIPELINE_READING},
    {FROM_EVALUATING, PIPELINE_ON_TRIGGERED,            PIPELINE_SELECTING}, /* the next one fired meanwhile */
    {FROM_CLOSING,    PIPELINE_ON_CLOSED,               PIPELINE_FINISHED},

    /* The way back begins by telling storage and selector again; READING finds the trigger that was not finished. */
    {FROM_FAILED | FROM_STOPPED | FROM_PAUSED, PIPELINE_ON_RESUMED, PIPELINE_DECLARING},

    /* Another file waits for the trigger under way, too. Storage and selector are told when the pipeline goes on. */
    {FROM_DECLARING | FROM_SCANNING | FROM_READING | FROM_CLOSING, PIPELINE_ON_APPLIED, PIPELINE_DECLARING},
    {FROM_FINISHED, PIPELINE_ON_APPLIED, PIPELINE_FINISHED},
    {FROM_PAUSED,   PIPELINE_ON_APPLIED, PIPELINE_PAUSED},
    {FROM_STOPPED,  PIPELINE_ON_APPLIED, PIPELINE_STOPPED},
    {FROM_FAILED,   PIPELINE_ON_APPLIED, PIPELINE_FAILED},

    {FROM_AT_WORK, PIPELINE_ON_FAILED, PIPELINE_FAILED},
    /* A pause waits for the trigger under way. */
    {FROM_DECLARING | FROM_SCANNING | FROM_READING | FROM_CLOSING, PIPELINE_ON_PAUSED, PIPELINE_PAUSED},
    {FROM_AT_WORK | FROM_PAUSED, PIPELINE_ON_STOPPED, PIPELINE_STOPPED},

    {FROM_AT_WORK | FROM_AT_REST, PIPELINE_ON_REMOVED, PIPELINE_REMOVING},
    {FROM_REMOVING, PIPELINE_ON_CLEARED, PIPELINE_REMOVED}, /* and no other: it is tried for ever */
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

static bool is_from(const struct transition *edge, size_t state)
{
    return (edge->from >> state & 1) != 0;
}

bool orchestrator_pipeline_next_state(enum pipeline_state state, enum pipeline_event event,
                                      enum pipeline_state *ret_state)
{
    for (size_t i = 0; i < WEIR_COUNT(TRANSITIONS); i++) {
        if (is_from(&TRANSITIONS[i], state) && TRANSITIONS[i].on == event) {
            *ret_state = TRANSITIONS[i].to;
            return true;
        }
    }
    return false;
}

bool orchestrator_pipeline_at_rest(enum pipeline_state state)
{
    return state == PIPELINE_REMOVED || (FROM_AT_REST >> state & 1) != 0;
}

bool orchestrator_pipeline_between_triggers(enum pipeline_state state)
{
    return state <= PIPELINE_READING || state == PIPELINE_CLOSING ||
           orchestrator_pipeline_at_rest(state);
}

const char *orchestrator_pipeline_state_name(enum pipeline_state state)
{
    return STATES[state].name;
}

const char *orchestrator_pipeline_state_text(enum pipeline_state state)
{
    return STATES[state].text;
}

const char *orchestrator_pipeline_event_name(enum pipeline_event event)
{
    return EVENTS[event];
}

bool orchestrator_pipeline_state_from_name(const char *name, enum pipeline_state *ret_state)
{
    for (size_t i = 0; i < WEIR_COUNT(STATES); i++) {
        if (weir_str_equal(STATES[i].name, name)) {
            *ret_state = (enum pipeline_state)i;
            return true;
        }
    }
    return false;
}

/* Edges from many states are left to the table: that leaves a diagram which can be read. */
static bool is_drawn(const struct transition *edge)
{
    return (edge->from & (edge->from - 1)) == 0;
}

static void describe_edges(size_t state, struct weir_buf *out)
{
    const char *between = "";

    for (size_t i = 0; i < WEIR_COUNT(TRANSITIONS); i++) {
        const struct transition *edge = &TRANSITIONS[i];

        if (!is_from(edge, state))
            continue;
        weir_buf_printf(out, "%s%s: `%s`", between, EVENTS[edge->on], STATES[edge->to].name);
        between = ", ";
    }
}

static void describe_diagram(struct weir_buf *out)
{
    weir_buf_append_text(out, "```mermaid\nstateDiagram-v2\n    [*] --> DECLARING\n");
    for (size_t i = 0; i < WEIR_COUNT(TRANSITIONS); i++) {
        const struct transition *edge = &TRANSITIONS[i];

        if (is_drawn(edge))
            weir_buf_printf(out, "    %s --> %s: %s\n", STATES[__builtin_ctz(edge->from)].name,
                            STATES[edge->to].name, EVENTS[edge->on]);
    }
    weir_buf_append_text(out, "    FINISHED --> [*]\n    REMOVED --> [*]\n```\n");
}

void orchestrator_pipeline_states_describe(struct weir_buf *out)
{
    describe_diagram(out);
    weir_buf_append_text(out, "\n| state | meaning | leads to |\n|---|---|---|\n");
    for (size_t state = 0; state < PIPELINE_STATES; state++) {
        weir_buf_printf(out, "| `%s` | %s | ", STATES[state].name, STATES[state].text);
        describe_edges(state, out);
        weir_buf_append_text(out, " |\n");
    }
}
