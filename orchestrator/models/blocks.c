/* Bitmaps of ids by block. */
#include "orchestrator/models/blocks.h"

#include "core/base/bisect.h"
#include "core/base/memory.h"
#include "core/wire/sample.h"

#include <stdlib.h>
#include <string.h>

void orchestrator_id_blocks_fini(struct id_blocks *blocks)
{
    for (size_t i = 0; i < blocks->count; i++)
        weir_bits_fini(&blocks->at[i].rows);
    free(blocks->at);
    *blocks = (struct id_blocks){0};
}

/* First index whose block is not below `block`. */
static size_t lower_bound(const struct id_blocks *blocks, int64_t block)
{
    size_t from = 0, to = blocks->count;
    WEIR_BISECT(from, to, middle, blocks->at[middle].block < block);
    return from;
}

static struct id_block *insert(struct id_blocks *blocks, size_t index, int64_t block)
{
    blocks->at = weir_grow(blocks->at, blocks->count, &blocks->capacity, sizeof(*blocks->at));
    memmove(blocks->at + index + 1, blocks->at + index,
            (blocks->count - index) * sizeof(*blocks->at));
    blocks->at[index] = (struct id_block){.block = block};
    blocks->count++;
    return &blocks->at[index];
}

static struct id_block *of_block(struct id_blocks *blocks, int64_t block)
{
    size_t index = lower_bound(blocks, block);
    bool there = index < blocks->count && blocks->at[index].block == block;
    return there ? &blocks->at[index] : insert(blocks, index, block);
}

bool orchestrator_id_blocks_has(const struct id_blocks *blocks, uint64_t id)
{
    const struct id_block *block =
        orchestrator_id_blocks_find(blocks, (int64_t)(id >> WEIR_ROW_BITS));
    return block != NULL && weir_bits_get(&block->rows, weir_sample_row(id));
}

static size_t shared_words(const struct weir_bits *a, const struct weir_bits *b)
{
    size_t least = a->count < b->count ? a->count : b->count;
    return (least + 63) / 64;
}

void orchestrator_id_blocks_add_rows(struct id_blocks *blocks, int64_t block,
                                     const struct weir_bits *rows)
{
    struct weir_bits *held = &of_block(blocks, block)->rows;
    if (rows->count > held->count)
        weir_bits_set(held, rows->count - 1); /* the highest bit of `rows` */
    for (size_t i = 0; i < shared_words(held, rows); i++)
        held->words[i] |= rows->words[i];
}

void orchestrator_id_blocks_add(struct id_blocks *blocks, const uint64_t *ids, size_t count)
{
    struct id_block *at = NULL;
    for (size_t i = 0; i < count; i++) {
        int64_t block = (int64_t)(ids[i] >> WEIR_ROW_BITS);
        if (at == NULL || at->block != block)
            at = of_block(blocks, block);
        weir_bits_set(&at->rows, weir_sample_row(ids[i]));
    }
}

const struct id_block *orchestrator_id_blocks_find(const struct id_blocks *blocks, int64_t block)
{
    size_t index = lower_bound(blocks, block);
    return index < blocks->count && blocks->at[index].block == block ? &blocks->at[index] : NULL;
}

size_t orchestrator_id_blocks_population(const struct id_blocks *blocks)
{
    size_t sum = 0;
    for (size_t i = 0; i < blocks->count; i++)
        sum += weir_bits_population(&blocks->at[i].rows);
    return sum;
}

size_t orchestrator_id_bits_shared(const struct weir_bits *a, const struct weir_bits *b)
{
    size_t sum = 0;
    for (size_t i = 0; i < shared_words(a, b); i++)
        sum += (size_t)__builtin_popcountll(a->words[i] & b->words[i]);
    return sum;
}

size_t orchestrator_id_blocks_shared(const struct id_blocks *a, const struct id_blocks *b)
{
    size_t sum = 0;
    for (size_t i = 0; i < a->count; i++) {
        const struct id_block *other = orchestrator_id_blocks_find(b, a->at[i].block);
        sum += other == NULL ? 0 : orchestrator_id_bits_shared(&a->at[i].rows, &other->rows);
    }
    return sum;
}

void orchestrator_id_bits_remove(struct weir_bits *from, const struct weir_bits *what)
{
    for (size_t i = 0; i < shared_words(from, what); i++)
        from->words[i] &= ~what->words[i];
}

void orchestrator_id_blocks_remove_rows(struct id_blocks *blocks, int64_t block,
                                        const struct weir_bits *rows)
{
    size_t index = lower_bound(blocks, block);
    if (index < blocks->count && blocks->at[index].block == block)
        orchestrator_id_bits_remove(&blocks->at[index].rows, rows);
}

size_t orchestrator_id_block_ids(const struct id_block *block, uint64_t *ids)
{
    size_t count = 0;
    for (size_t row = 0; row < WEIR_BLOCK_ROWS; row++)
        if (weir_bits_get(&block->rows, row))
            ids[count++] = (uint64_t)block->block * WEIR_BLOCK_ROWS + row;
    return count;
}

void orchestrator_id_block_pack(const struct id_block *block, struct weir_buf *bits,
                                struct weir_buf *rows)
{
    weir_bits_pack(&block->rows, bits);
    if (weir_bits_population(&block->rows) * sizeof(uint16_t) >= bits->size)
        return;
    weir_buf_clear(bits);
    for (size_t row = 0; row < block->rows.count; row++) {
        if (weir_bits_get(&block->rows, row))
            weir_buf_append(rows, &(uint16_t){(uint16_t)row}, sizeof(uint16_t)); /* little-endian */
    }
}

void orchestrator_id_block_unpack(struct weir_bytes bits, struct weir_bytes rows,
                                  struct weir_bits *ret_rows)
{
    weir_bits_unpack(ret_rows, bits);
    for (size_t at = 0; at + sizeof(uint16_t) <= rows.size; at += sizeof(uint16_t))
        weir_bits_set(ret_rows, weir_get_u16(rows.at + at));
}
