/* The candidate pool of a pipeline: the changes of each dataset from the feed, as ranges of rows
 * by block. Nothing is ever merged away, so the pool knows its samples at any past position;
 * 24 bytes a range, and a range is as long as one ingestion. Pure: no I/O. Owned by its
 * pipeline (pipeline.h), which keeps the same ranges in Postgres. */
#ifndef SELECTOR_PIPELINES_POOL_H
#define SELECTOR_PIPELINES_POOL_H

#include "selector/sets/set.h"

/* One row of the change feed. */
struct selector_change {
    uint64_t sequence;
    uint64_t first; /* id */
    uint32_t count;
    uint32_t kind; /* a weir_change_kind */
};

struct selector_block; /* private */
struct selector_pool {
    struct selector_pool_dataset {
        uint64_t number;
        struct selector_block *blocks; /* by block number: they are given without gaps */
        size_t block_count;
    } * datasets;
    size_t dataset_count;
};

/* Zero-initialised is empty. */
void selector_pool_fini(struct selector_pool *pool);
/* The same, of its own. */
void selector_pool_copy(const struct selector_pool *pool, struct selector_pool *ret_copy);
/* Takes in one change; a range may cross blocks. False when it is none the pool could hold (unknown
 * kind, ids of another dataset, a block far beyond the last): the feed is broken. */
bool selector_pool_apply(struct selector_pool *pool, uint64_t dataset,
                         const struct selector_change *change);

size_t selector_pool_blocks(const struct selector_pool *pool, uint64_t dataset);
/* Rows ever added to the block: one past the highest. */
uint32_t selector_pool_rows(const struct selector_pool *pool, uint64_t dataset, size_t block);

/* Sets bit r of `mask` for each row r that was added in (after, upto] and was neither removed nor
 * replaced up to `upto`. Erased rows are never in it, whenever the erasure was. Returns how many. */
size_t selector_pool_mask(const struct selector_pool *pool, uint64_t dataset, size_t block,
                          uint64_t after, uint64_t upto, uint64_t mask[SELECTOR_MASK_WORDS]);

/* Fills `sequences` (WEIR_BLOCK_ROWS) with the sequence at which each row of the block was added; 0: never. */
void selector_pool_added(const struct selector_pool *pool, uint64_t dataset, size_t block,
                         uint64_t *sequences);

/* Returns its size in memory. */
size_t selector_pool_bytes(const struct selector_pool *pool);

#endif
