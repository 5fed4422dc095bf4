/* See starts.h. */
#include "orchestrator/comparing/starts.h"

#include <string.h>

static const char *const NAMES[] = {
#define X(name, word) [CELL_##name] = word,
    CELL_STATES(X)
#undef X
};

const char *orchestrator_cell_state_name(enum cell_state state)
{
    return NAMES[state];
}

enum cell_state orchestrator_cell_state_of(const char *name)
{
    int state = 0;
    while (state < CELL_STATE_COUNT && strcmp(NAMES[state], name) != 0)
        state++;
    return (enum cell_state)state;
}

size_t orchestrator_comparing_starts(const enum cell_state *states, size_t count, size_t at_once,
                                     size_t *ret_starts)
{
    size_t running = 0, starts = 0;
    for (size_t i = 0; i < count; i++)
        running += states[i] == CELL_RUNNING;
    for (size_t i = 0; i < count && running + starts < at_once; i++)
        if (states[i] == CELL_WAITING)
            ret_starts[starts++] = i;
    return starts;
}
