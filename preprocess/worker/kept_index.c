/* The index of rows that are kept: see kept_index.h. */
#include "preprocess/worker/kept_index.h"

#include "core/base/memory.h"

#include <stdlib.h>

enum { ROOM_MIN = 64 };

void preprocess_kept_index_begin(struct kept_index *index, size_t rows)
{
    size_t room = rows + rows / 2 + ROOM_MIN; /* two thirds full: up to 7 of 8 it need not grow */
    preprocess_kept_index_fini(index);
    weir_require(room <= UINT32_MAX);
    index->slots = weir_calloc(room, sizeof(*index->slots));
    index->room = (uint32_t)room;
}

void preprocess_kept_index_fini(struct kept_index *index)
{
    free(index->slots);
    *index = (struct kept_index){0};
}

bool preprocess_kept_index_fits(const struct kept_index *index, size_t rows)
{
    return index->count + rows <= index->room / 8 * 7;
}

void preprocess_kept_index_add(struct kept_index *index, uint64_t id, struct kept_place place)
{
    struct kept_search search = kept_search(index, id);
    while (index->slots[search.at] != 0)
        search.at = search.at + 1 == index->room ? 0 : search.at + 1;
    index->slots[search.at] =
        search.tag << KEPT_TAG_SHIFT | (uint64_t)(place.segment + 1) << KEPT_ROW_BITS | place.row;
    index->count++;
}
