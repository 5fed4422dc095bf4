/* periodic: an interval around every so many moments; they may overlap, or leave gaps. */
#include "orchestrator/evaluations/grid.h"

struct periodic_options {
    struct grid_options grid;
    int64_t before, after;
};

struct periodic {
    struct grid grid; /* first: orchestrator_grid_count() */
    int64_t before, after;
};

static const struct cfg_key OPTIONS[] = {
    GRID_KEYS(struct periodic_options, grid, "from one moment to the next: 1d, 1w, 1 month"),
    CFG_DURATION(struct periodic_options, before, .fallback = "0s", .min = 0,
                 .doc = "time from the beginning of an interval to its moment"),
    CFG_DURATION(struct periodic_options, after, .fallback = "0s", .min = 0,
                 .doc = "time from its moment to its end"),
    CFG_END,
};

static enum weir_status init(void *state, const void *options, const struct weir_yaml_node *node,
                             struct weir_error *err)
{
    struct periodic *periodic = state;
    const struct periodic_options *given = options;
    periodic->before = given->before;
    periodic->after = given->after;
    if (given->before + given->after == 0)
        return weir_yaml_fail(node, err, "evaluation: periodic: expected before or after, or both");
    return orchestrator_grid_init(&periodic->grid, &given->grid, node, err);
}

static void intervals(const void *state, const struct evaluation_stream *stream,
                      struct evaluation_intervals *intervals)
{
    const struct periodic *periodic = state;
    int64_t at = orchestrator_grid_first(&periodic->grid, stream);
    while (orchestrator_grid_has(&periodic->grid, stream, at) &&
           intervals->count < EVALUATION_INTERVALS_MAX) {
        orchestrator_intervals_add(intervals, at - periodic->before, at + periodic->after);
        at = orchestrator_period_after(&periodic->grid.every, at);
    }
}

const struct evaluation_strategy orchestrator_strategy_periodic = {
    .name = "periodic",
    .summary = "intervals around moments that repeat",
    .options = OPTIONS,
    .options_size = sizeof(struct periodic_options),
    .state_size = sizeof(struct periodic),
    .init = init,
    .intervals = intervals,
    .count = orchestrator_grid_count,
};
