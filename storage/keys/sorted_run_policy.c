/* Size-tiered merging: see sorted_run_policy.h. */
#include "storage/keys/sorted_run_policy.h"

enum { TIERS = 22 }; /* 8^22 > 2^64 */

static unsigned tier_of(uint64_t count)
{
    unsigned tier = 0;

    for (; count >= SORTED_RUN_FAN_IN; count /= SORTED_RUN_FAN_IN)
        tier++;
    return tier;
}

size_t storage_sorted_run_choose(const uint64_t *counts, size_t run_count, size_t least,
                                 size_t *chosen)
{
    size_t in_tier[TIERS] = {0};
    unsigned tier = 0;
    size_t count = 0;

    for (size_t i = 0; i < run_count; i++)
        in_tier[tier_of(counts[i])]++;
    while (tier < TIERS && in_tier[tier] < least)
        tier++;
    for (size_t i = 0; i < run_count && count < SORTED_RUN_FAN_IN_MAX; i++) {
        if (tier_of(counts[i]) == tier)
            chosen[count++] = i;
    }
    return count;
}
