/* Blocks as ranges and bitmaps. Operations go block by block over bitmaps on the stack; a result that is
 * a range is kept as one. */
#include "selector/sets/set.h"

#include "core/base/bisect.h"
#include "core/base/error.h"
#include "core/base/memory.h"

#include <stdlib.h>
#include <string.h>

enum { WORD_BITS = 64 };

/* ---- masks ---- */

void selector_mask_fill(uint64_t *mask, uint32_t row, uint32_t count, bool set)
{
    for (uint32_t end = row + count; row < end;) {
        uint32_t bit = row % WORD_BITS;
        uint32_t here = WORD_BITS - bit < end - row ? WORD_BITS - bit : end - row;
        uint64_t bits = (here == WORD_BITS ? UINT64_MAX : (UINT64_C(1) << here) - 1) << bit;
        mask[row / WORD_BITS] = set ? mask[row / WORD_BITS] | bits : mask[row / WORD_BITS] & ~bits;
        row += here;
    }
}

size_t selector_mask_count(const uint64_t mask[SELECTOR_MASK_WORDS])
{
    size_t count = 0;
    for (size_t i = 0; i < SELECTOR_MASK_WORDS; i++)
        count += (size_t)__builtin_popcountll(mask[i]);
    return count;
}

/* The lowest bit; the mask is not empty. */
static uint32_t lowest(const uint64_t *mask)
{
    size_t word = 0;
    while (mask[word] == 0)
        word++;
    return (uint32_t)(word * WORD_BITS) + (uint32_t)__builtin_ctzll(mask[word]);
}

static uint32_t highest(const uint64_t *mask)
{
    size_t word = SELECTOR_MASK_WORDS - 1;
    while (mask[word] == 0)
        word--;
    return (uint32_t)(word * WORD_BITS) + 63 - (uint32_t)__builtin_clzll(mask[word]);
}

/* ---- making ---- */

static void drop_blocks(struct selector_set *set)
{
    for (size_t i = 0; i < set->block_count; i++)
        free(set->blocks[i].words);
    set->block_count = 0;
    set->count = 0;
}

void selector_set_fini(struct selector_set *set)
{
    drop_blocks(set);
    free(set->blocks);
    *set = (struct selector_set){0};
}

void selector_set_append(struct selector_set *set, uint64_t first,
                         const uint64_t mask[SELECTOR_MASK_WORDS])
{
    size_t count = selector_mask_count(mask);
    if (count == 0)
        return;
    weir_require(set->block_count == 0 || set->blocks[set->block_count - 1].first < first);
    set->blocks = weir_grow(set->blocks, set->block_count, &set->capacity, sizeof(*set->blocks));
    struct selector_set_block block = {
        .first = first, .before = set->count, .from = lowest(mask), .count = (uint32_t)count};
    if (highest(mask) - block.from + 1 != count)
        block.words = memcpy(weir_calloc(SELECTOR_MASK_WORDS, sizeof(*mask)), mask,
                             SELECTOR_MASK_WORDS * sizeof(*mask));
    set->blocks[set->block_count++] = block;
    set->count += count;
}

void selector_set_of_ids(struct selector_set *ret_set, const uint64_t *ids, size_t count)
{
    *ret_set = (struct selector_set){0};
    for (size_t at = 0; at < count;) {
        uint64_t mask[SELECTOR_MASK_WORDS] = {0};
        uint64_t first = ids[at] - weir_sample_row(ids[at]);
        for (; at < count && ids[at] - first < WEIR_BLOCK_ROWS; at++) {
            uint32_t row = weir_sample_row(ids[at]);
            mask[row / WORD_BITS] |= UINT64_C(1) << (row % WORD_BITS);
        }
        selector_set_append(ret_set, first, mask);
    }
}

/* ---- reading ---- */

/* The first block whose row 0 is `first` or later. */
static size_t place_of(const struct selector_set *set, uint64_t first)
{
    size_t low = 0, high = set->block_count;
    WEIR_BISECT(low, high, middle, set->blocks[middle].first < first);
    return low;
}

static const struct selector_set_block *find(const struct selector_set *set, uint64_t first)
{
    size_t at = place_of(set, first);
    return at < set->block_count && set->blocks[at].first == first ? &set->blocks[at] : NULL;
}

static void mask_of(const struct selector_set_block *block, uint64_t *mask)
{
    if (block != NULL && block->words) {
        memcpy(mask, block->words, SELECTOR_MASK_WORDS * sizeof(*mask));
        return;
    }
    memset(mask, 0, SELECTOR_MASK_WORDS * sizeof(*mask));
    if (block != NULL)
        selector_mask_fill(mask, block->from, block->count, true);
}

void selector_set_mask(const struct selector_set *set, uint64_t first,
                       uint64_t mask[SELECTOR_MASK_WORDS])
{
    mask_of(find(set, first), mask);
}

size_t selector_set_ids(const struct selector_set *set, size_t index, uint64_t *ids)
{
    const struct selector_set_block *block = &set->blocks[index];
    size_t count = 0;
    for (uint32_t i = 0; block->words == NULL && i < block->count; i++)
        ids[count++] = block->first + block->from + i;
    for (size_t word = 0; block->words != NULL && word < SELECTOR_MASK_WORDS; word++)
        for (uint64_t bits = block->words[word]; bits; bits &= bits - 1)
            ids[count++] = block->first + word * WORD_BITS + (uint64_t)__builtin_ctzll(bits);
    return count;
}

size_t selector_set_block_of(const struct selector_set *set, uint64_t rank)
{
    size_t low = 0, high = set->block_count;
    while (low + 1 < high) {
        size_t middle = low + (high - low) / 2;
        if (set->blocks[middle].before <= rank)
            low = middle;
        else
            high = middle;
    }
    return low;
}

bool selector_set_has(const struct selector_set *set, uint64_t id)
{
    uint32_t row = weir_sample_row(id);
    const struct selector_set_block *block = find(set, id - row);
    if (block == NULL || block->words != NULL)
        return block != NULL && (block->words[row / WORD_BITS] >> (row % WORD_BITS) & 1);
    return row >= block->from && row - block->from < block->count;
}

/* ---- operations ---- */

static void combine_words(uint64_t *a, enum selector_set_operation operation, const uint64_t *b)
{
    for (size_t i = 0; i < SELECTOR_MASK_WORDS; i++)
        a[i] = operation == SELECTOR_UNION        ? a[i] | b[i]
               : operation == SELECTOR_DIFFERENCE ? a[i] & ~b[i]
                                                  : a[i] & b[i];
}

void selector_set_combine(struct selector_set *a, enum selector_set_operation operation,
                          const struct selector_set *b)
{
    struct selector_set combined = {0};
    uint64_t left[SELECTOR_MASK_WORDS], right[SELECTOR_MASK_WORDS];
    for (size_t i = 0, k = 0; i < a->block_count || k < b->block_count;) {
        uint64_t at = i < a->block_count ? a->blocks[i].first : UINT64_MAX;
        uint64_t with = k < b->block_count ? b->blocks[k].first : UINT64_MAX;
        uint64_t first = at < with ? at : with;
        mask_of(at == first ? &a->blocks[i++] : NULL, left);
        mask_of(with == first ? &b->blocks[k++] : NULL, right);
        combine_words(left, operation, right);
        selector_set_append(&combined, first, left);
    }
    selector_set_fini(a);
    *a = combined;
}

/* The members of one block whose ranks are set: its mask less the others. */
static void pick_in(const struct selector_set_block *block, const uint64_t *ranks, uint64_t *mask)
{
    uint64_t rank = block->before;
    mask_of(block, mask);
    for (size_t word = 0; word < SELECTOR_MASK_WORDS; word++) {
        uint64_t kept = 0;
        for (uint64_t bits = mask[word]; bits; bits &= bits - 1, rank++)
            if (ranks[rank / WORD_BITS] >> (rank % WORD_BITS) & 1)
                kept |= bits & -bits;
        mask[word] = kept;
    }
}

void selector_set_pick(const struct selector_set *set, const uint64_t *ranks,
                       struct selector_set *ret_picked)
{
    uint64_t mask[SELECTOR_MASK_WORDS];
    *ret_picked = (struct selector_set){0};
    for (size_t i = 0; i < set->block_count; i++) {
        pick_in(&set->blocks[i], ranks, mask);
        selector_set_append(ret_picked, set->blocks[i].first, mask);
    }
}
