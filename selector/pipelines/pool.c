/* Ranges by block, and the masks made of them. */
#include "selector/pipelines/pool.h"

#include "core/base/memory.h"

#include <stdlib.h>
#include <string.h>

/* Blocks are numbered without gaps; changes of several blocks may come in any order, but never
 * further ahead than ingestion can run. A larger number is damage, and must not cost memory. */
enum { BLOCKS_AHEAD_MAX = 1 << 20 };

struct range {
    uint64_t sequence;
    uint32_t row;
    uint32_t count;
    uint32_t kind;
};

struct selector_block {
    struct range *ranges;
    uint32_t range_count;
    uint32_t range_capacity;
    uint32_t rows;
};

void selector_pool_fini(struct selector_pool *pool)
{
    for (size_t i = 0; i < pool->dataset_count; i++) {
        for (size_t k = 0; k < pool->datasets[i].block_count; k++)
            free(pool->datasets[i].blocks[k].ranges);
        free(pool->datasets[i].blocks);
    }
    free(pool->datasets);
    *pool = (struct selector_pool){0};
}

static void copy_block(const struct selector_block *block, struct selector_block *copy)
{
    size_t count = block->range_count;
    *copy = *block;
    copy->range_capacity = block->range_count;
    copy->ranges = weir_calloc(count + 1, sizeof(*copy->ranges));
    if (count > 0)
        memcpy(copy->ranges, block->ranges, count * sizeof(*copy->ranges));
}

void selector_pool_copy(const struct selector_pool *pool, struct selector_pool *ret_copy)
{
    ret_copy->dataset_count = pool->dataset_count;
    ret_copy->datasets = weir_calloc(pool->dataset_count + 1, sizeof(*ret_copy->datasets));
    for (size_t i = 0; i < pool->dataset_count; i++) {
        const struct selector_pool_dataset *from = &pool->datasets[i];
        struct selector_pool_dataset *dataset = &ret_copy->datasets[i];
        *dataset = *from;
        dataset->blocks = weir_calloc(from->block_count + 1, sizeof(*dataset->blocks));
        for (size_t k = 0; k < from->block_count; k++)
            copy_block(&from->blocks[k], &dataset->blocks[k]);
    }
}

static struct selector_pool_dataset *find_dataset(const struct selector_pool *pool, uint64_t number)
{
    for (size_t i = 0; i < pool->dataset_count; i++)
        if (pool->datasets[i].number == number)
            return &pool->datasets[i];
    return NULL;
}

static struct selector_pool_dataset *add_dataset(struct selector_pool *pool, uint64_t number)
{
    pool->datasets = weir_realloc(pool->datasets, pool->dataset_count + 1, sizeof(*pool->datasets));
    struct selector_pool_dataset *dataset = &pool->datasets[pool->dataset_count++];
    *dataset = (struct selector_pool_dataset){.number = number};
    return dataset;
}

static struct selector_block *reach_block(struct selector_pool_dataset *dataset, size_t block)
{
    if (block >= dataset->block_count) {
        size_t count = block + 1;
        dataset->blocks = weir_realloc(dataset->blocks, count, sizeof(*dataset->blocks));
        memset(dataset->blocks + dataset->block_count, 0,
               (count - dataset->block_count) * sizeof(*dataset->blocks));
        dataset->block_count = count;
    }
    return &dataset->blocks[block];
}

/* True when `range` continues the newest one: rows added at once under one sequence number are one range. */
static bool extends(const struct selector_block *block, const struct range *range)
{
    if (block->range_count == 0)
        return false;
    const struct range *last = &block->ranges[block->range_count - 1];
    return last->kind == range->kind && last->sequence == range->sequence &&
           last->row + last->count == range->row;
}

static void add_range(struct selector_block *block, const struct range *range)
{
    if (range->row + range->count > block->rows)
        block->rows = range->row + range->count;
    if (extends(block, range)) {
        block->ranges[block->range_count - 1].count += range->count;
        return;
    }
    if (block->range_count == block->range_capacity) {
        block->range_capacity = block->range_capacity ? block->range_capacity * 2 : 4;
        block->ranges = weir_realloc(block->ranges, block->range_capacity, sizeof(*block->ranges));
    }
    block->ranges[block->range_count++] = *range;
}

static bool is_sane(const struct selector_pool_dataset *dataset, uint64_t number,
                    const struct selector_change *change)
{
    uint64_t last = change->first + change->count - 1;
    return change->kind >= WEIR_CHANGE_ADDED && change->kind <= WEIR_CHANGE_ERASED &&
           change->count > 0 && last >= change->first &&
           weir_sample_dataset(change->first) == number && weir_sample_dataset(last) == number &&
           weir_sample_block(last) <
               (dataset != NULL ? dataset->block_count : 0) + BLOCKS_AHEAD_MAX;
}

bool selector_pool_apply(struct selector_pool *pool, uint64_t number,
                         const struct selector_change *change)
{
    struct selector_pool_dataset *dataset = find_dataset(pool, number);
    if (!is_sane(dataset, number, change))
        return false;
    if (dataset == NULL)
        dataset = add_dataset(pool, number);
    uint64_t id = change->first;
    for (uint32_t left = change->count; left > 0;) {
        uint32_t row = weir_sample_row(id);
        uint32_t here = WEIR_BLOCK_ROWS - row < left ? WEIR_BLOCK_ROWS - row : left;
        const struct range range = {
            .sequence = change->sequence, .row = row, .count = here, .kind = change->kind};
        add_range(reach_block(dataset, weir_sample_block(id)), &range);
        id += here;
        left -= here;
    }
    return true;
}

size_t selector_pool_blocks(const struct selector_pool *pool, uint64_t number)
{
    const struct selector_pool_dataset *dataset = find_dataset(pool, number);
    return dataset != NULL ? dataset->block_count : 0;
}

static const struct selector_block *find_block(const struct selector_pool *pool, uint64_t number,
                                               size_t block)
{
    const struct selector_pool_dataset *dataset = find_dataset(pool, number);
    return dataset != NULL && block < dataset->block_count ? &dataset->blocks[block] : NULL;
}

uint32_t selector_pool_rows(const struct selector_pool *pool, uint64_t number, size_t block)
{
    const struct selector_block *found = find_block(pool, number, block);
    return found != NULL ? found->rows : 0;
}

size_t selector_pool_mask(const struct selector_pool *pool, uint64_t number, size_t block,
                          uint64_t after, uint64_t upto, uint64_t mask[SELECTOR_MASK_WORDS])
{
    memset(mask, 0, SELECTOR_MASK_WORDS * sizeof(*mask));
    const struct selector_block *found = find_block(pool, number, block);
    for (uint32_t i = 0; found != NULL && i < found->range_count; i++) {
        const struct range *range = &found->ranges[i];
        if (range->kind == WEIR_CHANGE_ADDED && range->sequence > after && range->sequence <= upto)
            selector_mask_fill(mask, range->row, range->count, true);
    }
    for (uint32_t i = 0; found != NULL && i < found->range_count; i++) {
        const struct range *range = &found->ranges[i];
        bool gone = range->kind == WEIR_CHANGE_ERASED ||
                    (range->kind != WEIR_CHANGE_ADDED && range->sequence <= upto);
        if (gone)
            selector_mask_fill(mask, range->row, range->count, false);
    }
    return selector_mask_count(mask);
}

void selector_pool_added(const struct selector_pool *pool, uint64_t number, size_t block,
                         uint64_t *sequences)
{
    memset(sequences, 0, WEIR_BLOCK_ROWS * sizeof(*sequences));
    const struct selector_block *found = find_block(pool, number, block);
    for (uint32_t i = 0; found != NULL && i < found->range_count; i++) {
        const struct range *range = &found->ranges[i];
        for (uint32_t k = 0; range->kind == WEIR_CHANGE_ADDED && k < range->count; k++)
            sequences[range->row + k] = range->sequence;
    }
}

size_t selector_pool_bytes(const struct selector_pool *pool)
{
    size_t bytes = pool->dataset_count * sizeof(*pool->datasets);
    for (size_t i = 0; i < pool->dataset_count; i++) {
        const struct selector_pool_dataset *dataset = &pool->datasets[i];
        bytes += dataset->block_count * sizeof(*dataset->blocks);
        for (size_t k = 0; k < dataset->block_count; k++)
            bytes += dataset->blocks[k].range_capacity * sizeof(struct range);
    }
    return bytes;
}
