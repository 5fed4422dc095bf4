/* Cells to start next: in the order of the grid, as many as may run at once. Pure. */
#ifndef ORCHESTRATOR_COMPARING_STARTS_H
#define ORCHESTRATOR_COMPARING_STARTS_H

#include <stddef.h>

// clang-format off
#define CELL_STATES(X)                                                      \
    X(WAITING, "waiting") /* no pipeline yet */                             \
    X(RUNNING, "running")                                                   \
    X(RESTING, "resting") /* a person has paused or stopped its pipeline */ \
    X(DONE, "done")       /* its results are kept */                        \
    X(FAILED, "failed")
// clang-format on

enum cell_state {
#define X(name, word) CELL_##name,
    CELL_STATES(X)
#undef X
        CELL_STATE_COUNT
};

const char *orchestrator_cell_state_name(enum cell_state state);
/* The state of that name; CELL_STATE_COUNT: there is none. */
enum cell_state orchestrator_cell_state_of(const char *name);

/* Writes the indices of the cells to start to `ret_starts`, which has room for `at_once`, and returns their number. */
size_t orchestrator_comparing_starts(const enum cell_state *states, size_t count, size_t at_once,
                                     size_t *ret_starts);

#endif
