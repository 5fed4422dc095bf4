/* Taking the smallest keys without sorting all, for policies. */
#ifndef SELECTOR_POLICIES_LEAST_H
#define SELECTOR_POLICIES_LEAST_H

#include "selector/policies/policy.h"

/* The `rank`-th smallest of `keys`, from 1; 0 < rank <= count. Eight passes over the keys, whatever
 * they are (radix selection). */
uint64_t selector_least(const uint64_t *keys, size_t count, size_t rank);
/* Chooses the indices of the `wanted` smallest, ascending; of equal keys the later ones. */
void selector_take_least(const uint64_t *keys, size_t count, size_t wanted,
                         struct selection_output *output);

/* Keys in the order of the numbers. */
static inline uint64_t selector_key_of_time(int64_t time)
{
    return (uint64_t)time ^ (UINT64_C(1) << 63);
}

#endif
