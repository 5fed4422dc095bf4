/* Division of memory among trainers: see budget.h. */
#include "preprocess/dispatcher/budget.h"

/* Returns an equal part of what is left by those that need no more than `part`. */
static uint64_t divide(uint64_t budget, const uint64_t *needs, size_t count, uint64_t part)
{
    size_t takers = 1;
    for (size_t i = 0; i < count; i++) {
        if (needs[i] <= part)
            budget -= needs[i];
        else
            takers++;
    }
    return budget / takers;
}

/* Parts only grow, as those that need less than one leave something: it ends after `count` steps. */
uint64_t preprocess_budget_part(uint64_t budget, const uint64_t *needs, size_t count)
{
    uint64_t part = budget / (count + 1), next = divide(budget, needs, count, part);
    while (next > part) {
        part = next;
        next = divide(budget, needs, count, part);
    }
    return part;
}
