/* slicing: event time cut into slices, end to end. */
#include "orchestrator/evaluations/grid.h"

struct slicing_options {
    struct grid_options grid;
};

static const struct cfg_key OPTIONS[] = {
    GRID_KEYS(struct slicing_options, grid, "length of a slice: 1d, 1w, 1 month"),
    CFG_END,
};

static enum weir_status init(void *state, const void *options, const struct weir_yaml_node *node,
                             struct weir_error *err)
{
    return orchestrator_grid_init(state, &((const struct slicing_options *)options)->grid, node,
                                  err);
}

static void intervals(const void *state, const struct evaluation_stream *stream,
                      struct evaluation_intervals *intervals)
{
    const struct grid *grid = state;
    int64_t from = orchestrator_grid_first(grid, stream);
    while (orchestrator_grid_has(grid, stream, from) &&
           intervals->count < EVALUATION_INTERVALS_MAX) {
        int64_t to = orchestrator_period_after(&grid->every, from);
        orchestrator_intervals_add(intervals, from, to);
        from = to;
    }
}

const struct evaluation_strategy orchestrator_strategy_slicing = {
    .name = "slicing",
    .summary = "slices of event time, end to end",
    .options = OPTIONS,
    .options_size = sizeof(struct slicing_options),
    .state_size = sizeof(struct grid),
    .init = init,
    .intervals = intervals,
    .count = orchestrator_grid_count,
};
