/* Open addressing with linear probing, at most half full. */
#include "core/base/index.h"

#include "core/base/error.h"
#include "core/base/memory.h"
#include "core/base/rng.h"

#include <stdlib.h>
#include <string.h>

enum { SLOTS_MIN = 64 };

void weir_index_fini(struct weir_index *index)
{
    free(index->slots);
    *index = (struct weir_index){0};
}

void weir_index_clear(struct weir_index *index)
{
    if (index->count > 0)
        memset(index->slots, 0, index->slot_count * sizeof(*index->slots));
    index->count = 0;
}

void weir_index_draw_seed(struct weir_index *index)
{
    while (index->seed == 0)
        index->seed = weir_random_u64();
}

static void put(struct weir_index *index, uint64_t slot)
{
    size_t mask = index->slot_count - 1, at = slot >> 32 & mask;
    while (index->slots[at] != 0)
        at = (at + 1) & mask;
    index->slots[at] = slot;
}

static void grow(struct weir_index *index)
{
    struct weir_index old = *index;
    index->slot_count = old.slot_count > 0 ? 2 * old.slot_count : SLOTS_MIN;
    index->slots = weir_calloc(index->slot_count, sizeof(*index->slots));
    for (size_t i = 0; i < old.slot_count; i++)
        if (old.slots[i] != 0)
            put(index, old.slots[i]);
    free(old.slots);
}

void weir_index_add(struct weir_index *index, uint64_t hash, uint32_t entry)
{
    weir_require(entry < UINT32_MAX);
    if (2 * (index->count + 1) > index->slot_count)
        grow(index);
    put(index, hash >> 32 << 32 | (entry + 1));
    index->count++;
}
