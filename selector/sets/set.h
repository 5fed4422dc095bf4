/* A set of sample ids, by block of 65 536 rows a range or a bitmap: never more than one bit for a row of
 * the blocks it touches, however it came about. Counting, looking up, uniting and drawing work on
 * blocks and words; only selector_set_ids() expands a block to ids. Pure. */
#ifndef SELECTOR_SETS_SET_H
#define SELECTOR_SETS_SET_H

#include "core/wire/sample.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { SELECTOR_MASK_WORDS = WEIR_BLOCK_ROWS / 64 };

struct selector_set_block {
    uint64_t first;  /* id of row 0 */
    uint64_t before; /* members in earlier blocks */
    uint64_t *words; /* SELECTOR_MASK_WORDS; NULL: rows from … from + count - 1 */
    uint32_t from;
    uint32_t count; /* > 0 */
};

/* Zero-initialised is empty. Blocks ascend. */
struct selector_set {
    struct selector_set_block *blocks;
    size_t block_count;
    size_t capacity;
    uint64_t count;
};

void selector_set_fini(struct selector_set *set);
/* Adds the rows of a block after all others. */
void selector_set_append(struct selector_set *set, uint64_t first,
                         const uint64_t mask[SELECTOR_MASK_WORDS]);
/* Makes the set of `ids`, which ascend. */
void selector_set_of_ids(struct selector_set *ret_set, const uint64_t *ids, size_t count);

/* Fills `mask` with the rows of the block whose row 0 is `first`. */
void selector_set_mask(const struct selector_set *set, uint64_t first,
                       uint64_t mask[SELECTOR_MASK_WORDS]);
/* The ids of the index-th block, ascending, into `ids` (room for WEIR_BLOCK_ROWS). */
size_t selector_set_ids(const struct selector_set *set, size_t index, uint64_t *ids);
/* Returns the index of the block that holds the member of this rank, from 0; rank < count. */
size_t selector_set_block_of(const struct selector_set *set, uint64_t rank);

bool selector_set_has(const struct selector_set *set, uint64_t id);

enum selector_set_operation { SELECTOR_UNION, SELECTOR_DIFFERENCE, SELECTOR_INTERSECTION };
/* `a` becomes a ∪ b, a \ b or a ∩ b. */
void selector_set_combine(struct selector_set *a, enum selector_set_operation operation,
                          const struct selector_set *b);
/* Picks the members of `set` whose ranks are set in `ranks` (set->count bits). */
void selector_set_pick(const struct selector_set *set, const uint64_t *ranks,
                       struct selector_set *ret_picked);

/* Sets (or clears) `count` bits of `mask` from bit `row` on. */
void selector_mask_fill(uint64_t *mask, uint32_t row, uint32_t count, bool set);
size_t selector_mask_count(const uint64_t mask[SELECTOR_MASK_WORDS]);

#endif
