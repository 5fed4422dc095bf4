/* Which sorted runs to merge. Runs fall into tiers by their size, each SORTED_RUN_FAN_IN times the one below;
 * SORTED_RUN_FAN_IN runs of a tier become one of a higher tier. So there are at most SORTED_RUN_FAN_IN - 1 idle runs a
 * tier, and an entry is written once more per tier: 10 M samples in batches of 262 144 are written 2 to 3
 * times, 1 B samples 5 times. (Size-tiered compaction of log-structured merge trees: O'Neil et al., 1996.)
 * Pure. */
#ifndef WEIR_STORAGE_SORTED_RUN_POLICY_H
#define WEIR_STORAGE_SORTED_RUN_POLICY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
    SORTED_RUN_FAN_IN = 8,
    /* While a scan has work, merging waits until a tier has so many runs: ingestion goes first, but not
     * for ever. Also the most that one merge takes. */
    SORTED_RUN_FAN_IN_MAX = 48,
};

/* Chooses runs of the smallest tier that holds at least `least` of them; `counts[i]` is the size of run
 * i. Fills `chosen` (SORTED_RUN_FAN_IN_MAX indices, ascending); returns how many, 0: nothing to merge. */
size_t storage_sorted_run_choose(const uint64_t *counts, size_t run_count, size_t least,
                                 size_t *chosen);

#endif
