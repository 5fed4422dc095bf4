/* Taking the candidates with the smallest keys, offered one after the other, without keeping all: for policies. */
#ifndef SELECTOR_POLICIES_LEAST_H
#define SELECTOR_POLICIES_LEAST_H

#include "selector/policies/policy.h"

struct selection_keyed {
    uint64_t key;
    uint64_t index;
};

/* The `wanted` smallest keys that were offered, of equal ones those offered later, and a few that may turn
 * out not to be among them: at most twice as many are held. */
struct selection_least {
    size_t wanted;
    struct selection_keyed *items;
    size_t count;
    size_t capacity;
    uint64_t bound; /* larger keys are not among the smallest */
};

/* At most `offers` will be made. */
void selector_least_init(struct selection_least *least, size_t wanted, size_t offers);
void selector_least_fini(struct selection_least *least);
/* Drops all but the `wanted` smallest. */
void selector_least_cut(struct selection_least *least);
/* Removes and returns the largest of the `wanted` smallest; at least one was offered. */
struct selection_keyed selector_least_pop(struct selection_least *least);
/* Chooses the smallest. */
void selector_least_take(struct selection_least *least, struct selection_output *output);
/* Index by index, ascending. */
static inline void selection_least_offer(struct selection_least *least, uint64_t key, size_t index)
{
    if (key > least->bound || least->wanted == 0)
        return;
    if (least->count == least->capacity)
        selector_least_cut(least);
    least->items[least->count++] = (struct selection_keyed){key, index};
}

/* Keys in the order of the numbers. */
static inline uint64_t selector_key_of_time(int64_t time)
{
    return (uint64_t)time ^ (UINT64_C(1) << 63);
}

#endif
