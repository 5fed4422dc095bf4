/* An index of entries by the hash of their keys. Entries are numbers below UINT32_MAX, of an array that the caller
 * keeps: the index knows no keys, and offers each entry that may have the hash for the caller to compare.
 *
 *     struct weir_index_search search = weir_index_search(&index, hash);
 *     uint32_t entry;
 *     while (weir_index_next(&search, &entry))
 *         if (array[entry].key == key)
 *             return entry;
 *
 * Adding and finding take O(1), amortised; 16 to 32 bytes per entry. Nothing fails. The upper half of a hash is what
 * counts, and should differ where keys do: weir_hash64(), weir_mix64(). Strangers who choose keys could have all of
 * them collide, and each search take O(count): hash their keys with the index's seed. No result depends on the seed,
 * for the order of entries is the caller's. */
#ifndef WEIR_BASE_INDEX_H
#define WEIR_BASE_INDEX_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Zeroed is empty. */
struct weir_index {
    uint64_t *slots;   /* 0: free; else upper half of the hash, entry + 1 */
    size_t slot_count; /* a power of two, at least twice `count`; 0: none yet */
    size_t count;
    uint64_t seed; /* 0: not drawn */
};

void weir_index_fini(struct weir_index *index);
/* Removes all entries; keeps the memory and the seed. */
void weir_index_clear(struct weir_index *index);
/* Draws the seed unless it is drawn. Call before the first key is hashed with it. */
void weir_index_draw_seed(struct weir_index *index);
/* Adds an entry, without a look whether its key is there. */
void weir_index_add(struct weir_index *index, uint64_t hash, uint32_t entry);

/* Valid until the index changes. */
struct weir_index_search {
    const uint64_t *slots;
    size_t at, mask;
    uint32_t tag;
};

static inline struct weir_index_search weir_index_search(const struct weir_index *index,
                                                         uint64_t hash)
{
    static const uint64_t FREE = 0;
    bool is_empty = index->slot_count == 0;
    size_t mask = is_empty ? 0 : index->slot_count - 1;
    return (struct weir_index_search){
        .slots = is_empty ? &FREE : index->slots,
        .at = hash >> 32 & mask,
        .mask = mask,
        .tag = (uint32_t)(hash >> 32),
    };
}

/* The next entry that may have the hash, in no particular order; false: there are no more. */
static inline bool weir_index_next(struct weir_index_search *search, uint32_t *ret_entry)
{
    for (uint64_t slot; (slot = search->slots[search->at]) != 0;) {
        search->at = (search->at + 1) & search->mask;
        if (slot >> 32 == search->tag) {
            *ret_entry = (uint32_t)slot - 1;
            return true;
        }
    }
    return false;
}

#endif
