/* A set of sample ids as one bitmap per block of ids: what lineage is asked with. Pure. */
#ifndef ORCHESTRATOR_MODELS_BLOCKS_H
#define ORCHESTRATOR_MODELS_BLOCKS_H

#include "core/base/bits.h"

struct id_block {
    int64_t block; /* id >> 16: dataset and block */
    struct weir_bits rows;
};

/* Ascending by block. Zero-initialised is empty. */
struct id_blocks {
    struct id_block *at;
    size_t count;
    size_t capacity;
};

void orchestrator_id_blocks_fini(struct id_blocks *blocks);
/* Adds ids in any order; ascending is fastest. */
void orchestrator_id_blocks_add(struct id_blocks *blocks, const uint64_t *ids, size_t count);
/* Adds rows of a block. */
void orchestrator_id_blocks_add_rows(struct id_blocks *blocks, int64_t block,
                                     const struct weir_bits *rows);
/* Removes rows of a block, which may be none of it. */
void orchestrator_id_blocks_remove_rows(struct id_blocks *blocks, int64_t block,
                                        const struct weir_bits *rows);
/* NULL: no id of that block is in it. */
const struct id_block *orchestrator_id_blocks_find(const struct id_blocks *blocks, int64_t block);
bool orchestrator_id_blocks_has(const struct id_blocks *blocks, uint64_t id);
size_t orchestrator_id_blocks_population(const struct id_blocks *blocks);
size_t orchestrator_id_blocks_shared(const struct id_blocks *a, const struct id_blocks *b);
/* Writes the block's ids, ascending, to `ids` (room for WEIR_BLOCK_ROWS); returns their number. */
size_t orchestrator_id_block_ids(const struct id_block *block, uint64_t *ids);
/* Number of bits that are set in both. */
size_t orchestrator_id_bits_shared(const struct weir_bits *a, const struct weir_bits *b);
/* Clears in `from` what is set in `what`. */
void orchestrator_id_bits_remove(struct weir_bits *from, const struct weir_bits *what);

/* A block in as few bytes as can be: packed bits, or in `rows` their numbers, two bytes each, where those are fewer. */
void orchestrator_id_block_pack(const struct id_block *block, struct weir_buf *bits,
                                struct weir_buf *rows);
/* Replaces `ret_rows` with what was packed. */
void orchestrator_id_block_unpack(struct weir_bytes bits, struct weir_bytes rows,
                                  struct weir_bits *ret_rows);

#endif
