/* Which chunks of a block are merged (C1, C2). Pure.
 *
 * Size tiers, as in log-structured merge trees with tiering (O'Neil et al. 1996; Luo and Carey, "LSM-based
 * storage techniques", 2020), chosen over leveling because an append must not rewrite what is large
 * already: a chunk of n rows is of tier log8(n); eight neighbours of one tier, and whatever smaller
 * ones lie between them, become one chunk of a higher tier. So each merge lifts each of its rows by a
 * tier at least, and a row is written at most 1 + 5 times on its way through the tiers, plus once when
 * its block is full and becomes one chunk: write amplification is at most 7, and about 1.25 where files
 * are read in bulk. A block that still grows has a few dozen chunks at most. */
#ifndef WEIR_STORAGE_CHUNK_MERGE_POLICY_H
#define WEIR_STORAGE_CHUNK_MERGE_POLICY_H

#include <stddef.h>
#include <stdint.h>

enum { MERGE_FAN_IN = 8 };

struct merge_span {
    size_t first, end; /* equal: nothing is to be merged */
};

/* `rows` holds the rows of each chunk of one block, in id order. Chunks of more than an eighth of
 * `rows_max` stay as they are, unless the whole block fits; so none of more than twice of it comes to be. */
struct merge_span storage_chunk_merge_choose(const uint32_t *rows, size_t count, uint32_t rows_max);

#endif
