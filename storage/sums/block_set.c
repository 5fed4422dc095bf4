/* Sorted blocks: see block_set.h. */
#include "storage/sums/block_set.h"

#include "core/base/bisect.h"
#include "core/base/memory.h"

#include <stdlib.h>
#include <string.h>

void storage_block_set_fini(struct block_set *set)
{
    free(set->at);
    *set = (struct block_set){0};
}

static int compare(const struct block_at *a, const struct block_at *b)
{
    if (a->dataset != b->dataset)
        return a->dataset < b->dataset ? -1 : 1;
    if (a->file != b->file)
        return a->file < b->file ? -1 : 1;
    return (a->block > b->block) - (a->block < b->block);
}

size_t storage_block_set_from(const struct block_set *set, const struct block_at *at)
{
    size_t low = 0, high = set->count;

    WEIR_BISECT(low, high, middle, compare(&set->at[middle], at) < 0);
    return low;
}

bool storage_block_set_add(struct block_set *set, const struct block_at *at)
{
    size_t place = storage_block_set_from(set, at);

    if (set->count == BLOCK_SET_MAX || (place < set->count && compare(&set->at[place], at) == 0))
        return false;
    set->at = weir_grow(set->at, set->count, &set->capacity, sizeof(*set->at));
    memmove(set->at + place + 1, set->at + place, (set->count - place) * sizeof(*set->at));
    set->at[place] = *at;
    set->count++;
    return true;
}

bool storage_block_set_remove(struct block_set *set, const struct block_at *at)
{
    size_t place = storage_block_set_from(set, at);

    if (place == set->count || compare(&set->at[place], at) != 0)
        return false;
    set->count--;
    memmove(set->at + place, set->at + place + 1, (set->count - place) * sizeof(*set->at));
    return true;
}

bool storage_block_set_touch(const struct block_set *set, uint32_t dataset, uint64_t file,
                             uint64_t offset, uint64_t length)
{
    const struct block_at first = {dataset, file, offset / SUM_BLOCK_BYTES};
    size_t place = set->count > 0 ? storage_block_set_from(set, &first) : 0;

    return place < set->count && set->at[place].dataset == dataset && set->at[place].file == file &&
           set->at[place].block * SUM_BLOCK_BYTES < offset + length;
}
