/* The strategies there are, and what they share. To add one: write strategy_NAME.c and name it here, nothing else. */
#include "orchestrator/evaluations/strategy.h"

#include "core/base/memory.h"

#include <stdlib.h>
#include <string.h>

#define EVALUATION_STRATEGIES(X) X(slicing) X(periodic) X(static) X(offset) X(between_triggers)

#define X(name) extern const struct evaluation_strategy strategy_##name;
EVALUATION_STRATEGIES(X)
#undef X

static const struct evaluation_strategy *const ALL[] = {
#define X(name) &strategy_##name,
    EVALUATION_STRATEGIES(X)
#undef X
};

const struct evaluation_strategy *orchestrator_strategy_find(const char *name)
{
    for (size_t i = 0; i < WEIR_COUNT(ALL); i++)
        if (weir_str_equal(ALL[i]->name, name))
            return ALL[i];
    return NULL;
}

size_t orchestrator_strategy_count(void)
{
    return WEIR_COUNT(ALL);
}

const struct evaluation_strategy *orchestrator_strategy_at(size_t index)
{
    return ALL[index];
}

void orchestrator_intervals_add(struct evaluation_intervals *intervals, int64_t from, int64_t to)
{
    if (from >= to || intervals->count == EVALUATION_INTERVALS_MAX)
        return;
    intervals->at =
        weir_grow(intervals->at, intervals->count, &intervals->capacity, sizeof *intervals->at);
    intervals->at[intervals->count++] = (struct evaluation_interval){from, to};
}

void orchestrator_intervals_fini(struct evaluation_intervals *intervals)
{
    free(intervals->at);
    *intervals = (struct evaluation_intervals){0};
}
