/* Candidates by block: see candidates.h. */
#include "storage/erasure/candidates.h"

#include "core/base/bisect.h"
#include "core/base/memory.h"
#include "core/wire/sample.h"

#include <stdlib.h>
#include <string.h>

void storage_candidates_drop(struct candidate_block *block)
{
    free(block->at);
    block->at = NULL;
    block->count = block->capacity = 0;
}

void storage_candidates_fini(struct candidates *candidates)
{
    for (size_t i = 0; i < candidates->count; i++)
        storage_candidates_drop(&candidates->blocks[i]);
    free(candidates->blocks);
    *candidates = (struct candidates){0};
}

static size_t place_of(const struct candidates *candidates, uint64_t block)
{
    size_t low = 0, high = candidates->count;

    WEIR_BISECT(low, high, middle, candidates->blocks[middle].block < block);
    return low;
}

static struct candidate_block *block_of(struct candidates *candidates, uint64_t number)
{
    size_t at = place_of(candidates, number);
    struct candidate_block *block;

    if (at < candidates->count && candidates->blocks[at].block == number)
        return &candidates->blocks[at];
    candidates->blocks = weir_grow(candidates->blocks, candidates->count, &candidates->capacity,
                                   sizeof(*candidates->blocks));
    block = &candidates->blocks[at];
    memmove(block + 1, block, (candidates->count++ - at) * sizeof(*block));
    *block = (struct candidate_block){.block = number};
    return block;
}

void storage_candidates_add(struct candidates *candidates, uint64_t id, uint32_t request)
{
    struct candidate_block *block = block_of(candidates, id >> WEIR_ROW_BITS);

    block->at = weir_grow(block->at, block->count, &block->capacity, sizeof(*block->at));
    block->at[block->count++] = weir_sample_row(id) << 16 | request;
}

static int by_value(const void *a, const void *b)
{
    const uint32_t *x = a, *y = b;

    return (*x > *y) - (*x < *y);
}

void storage_candidates_sort(struct candidate_block *block)
{
    size_t kept = 0;

    if (block->count == 0)
        return;
    qsort(block->at, block->count, sizeof(*block->at), by_value);
    for (size_t i = 0; i < block->count; i++) {
        if (kept == 0 || block->at[kept - 1] != block->at[i])
            block->at[kept++] = block->at[i];
    }
    block->count = kept;
}
