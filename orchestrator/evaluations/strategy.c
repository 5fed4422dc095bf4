/* The strategies there are, and what they share. To add one: write strategy_NAME.c and name it here, nothing else. */
#include "orchestrator/evaluations/strategy.h"

#include "core/base/memory.h"

#include <stdlib.h>
#include <string.h>

#define EVALUATION_STRATEGIES(X) X(slicing) X(periodic) X(static) X(offset) X(between_triggers)

#define X(name) extern const struct evaluation_strategy orchestrator_strategy_##name;
EVALUATION_STRATEGIES(X)
#undef X

static const struct cfg_plugin *const ALL[] = {
#define X(name) &orchestrator_strategy_##name.plugin,
    EVALUATION_STRATEGIES(X)
#undef X
};

const struct cfg_registry ORCHESTRATOR_STRATEGIES = {
    .what = "strategy",
    .key = "strategy",
    .expected = "a mapping such as {name: daily, every: 1d, metrics: [accuracy]}",
    .at = ALL,
    .count = WEIR_COUNT(ALL),
};

void orchestrator_intervals_add(struct evaluation_intervals *intervals, int64_t from, int64_t to)
{
    if (from >= to || intervals->count == EVALUATION_INTERVALS_MAX)
        return;
    intervals->at =
        weir_grow(intervals->at, intervals->count, &intervals->capacity, sizeof(*intervals->at));
    intervals->at[intervals->count++] = (struct evaluation_interval){from, to};
}

void orchestrator_intervals_fini(struct evaluation_intervals *intervals)
{
    free(intervals->at);
    *intervals = (struct evaluation_intervals){0};
}
