/* The index of rows that are kept: a hash table of 8 bytes a slot, at most 12 a row, that finds the rows of a sample in
 * one probe of memory. It keeps no ids: a place that it offers may be another sample's, which the caller compares.
 * Pure.
 *
 *     slot: u24 tag of the hash | u20 segment + 1 | u20 row */
#ifndef WEIR_PREPROCESS_WORKER_KEPT_INDEX_H
#define WEIR_PREPROCESS_WORKER_KEPT_INDEX_H

#include "core/base/rng.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { KEPT_SEGMENTS_MAX = (1 << 20) - 1, KEPT_ROW_BITS = 20, KEPT_TAG_SHIFT = 40 };

struct kept_place {
    uint32_t segment, row;
};

/* Zeroed is empty, and has no room. */
struct kept_index {
    uint64_t *slots;
    uint32_t room;
    size_t count;
};

/* Empties it, with room for so many rows and some more. */
void preprocess_kept_index_begin(struct kept_index *index, size_t rows);
void preprocess_kept_index_fini(struct kept_index *index);
/* True when so many rows more find room. */
bool preprocess_kept_index_fits(const struct kept_index *index, size_t rows);
/* Adds a row, for which there is room. */
void preprocess_kept_index_add(struct kept_index *index, uint64_t id, struct kept_place place);

struct kept_search {
    uint64_t tag;
    uint32_t at;
};

static inline struct kept_search kept_search(const struct kept_index *index, uint64_t id)
{
    uint64_t hash = weir_mix64(id + 1);
    return (struct kept_search){.tag = hash & 0xffffff,
                                .at = (uint32_t)((hash >> 32) * index->room >> 32)};
}

/* Has the slot come from memory that is looked at first. */
static inline void kept_search_prefetch(const struct kept_index *index,
                                        const struct kept_search *search)
{
    if (index->room > 0)
        __builtin_prefetch(index->slots + search->at);
}

/* The next place that may be the sample's; false: there are no more. */
static inline bool kept_search_next(const struct kept_index *index, struct kept_search *search,
                                    struct kept_place *ret_place)
{
    for (uint64_t slot; index->room > 0 && (slot = index->slots[search->at]) != 0;) {
        search->at = search->at + 1 == index->room ? 0 : search->at + 1;
        if (slot >> KEPT_TAG_SHIFT != search->tag)
            continue;
        ret_place->segment = (uint32_t)(slot >> KEPT_ROW_BITS & 0xfffff) - 1;
        ret_place->row = (uint32_t)slot & 0xfffff;
        return true;
    }
    return false;
}

#endif
