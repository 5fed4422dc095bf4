/* Samples that requests may mean, by block, with the request that may mean each: 4 bytes a sample, sorted when their
 * block is looked at. Pure. */
#ifndef WEIR_STORAGE_CANDIDATES_H
#define WEIR_STORAGE_CANDIDATES_H

#include <stddef.h>
#include <stdint.h>

struct candidate_block {
    uint64_t block; /* id >> 16 */
    uint32_t *at;   /* row << 16 | request */
    size_t count, capacity;
};

/* Blocks ascend. Zeroed is empty. */
struct candidates {
    struct candidate_block *blocks;
    size_t count, capacity;
};

void storage_candidates_fini(struct candidates *candidates);
/* `request` < 65536. */
void storage_candidates_add(struct candidates *candidates, uint64_t id, uint32_t request);
/* Sorts them, and drops repetitions: by row, then by request. */
void storage_candidates_sort(struct candidate_block *block);
/* Frees a block that has been looked at. */
void storage_candidates_drop(struct candidate_block *block);

#endif
