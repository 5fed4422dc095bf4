/* See search_rows.h. */
#include "storage/erasure/search_rows.h"

#include "core/base/bisect.h"
#include "core/base/memory.h"

#include <stdlib.h>
#include <string.h>

void storage_search_rows_fini(struct search_rows *rows)
{
    free(rows->parts);
    *rows = (struct search_rows){0};
}

void storage_search_rows_clear(struct search_rows *rows)
{
    rows->count = 0;
}

/* ---- one chunk ---- */

static uint64_t offset_of(const struct chunk *chunk, uint32_t i)
{
    return (uint64_t)weir_column_at(&chunk->offsets, i);
}

static uint64_t end_of(const struct chunk *chunk, uint32_t i)
{
    return offset_of(chunk, i) + (uint64_t)weir_column_at(&chunk->lengths, i);
}

static void add_row(struct search_part *part, const struct chunk *chunk, uint32_t i)
{
    uint64_t from = offset_of(chunk, i), to = end_of(chunk, i);
    bool is_first = part->first == part->end;

    if (is_first)
        *part = (struct search_part){.first = i, .from = from, .to = to, .is_sorted = true};
    else if (i != part->end || from < part->to)
        part->is_sorted = false;
    part->from = from < part->from ? from : part->from;
    part->to = to > part->to ? to : part->to;
    part->end = i + 1;
}

void storage_search_part_look(struct search_rows *rows, struct search_part *part,
                              const struct chunk *chunk, int64_t file)
{
    *part = (struct search_part){0};
    for (uint32_t i = 0; i < chunk->count; i++) {
        if (weir_column_at(&chunk->files, i) == file)
            add_row(part, chunk, i);
    }
    rows->compared += chunk->count;
    part->block = chunk->block;
    part->first_row = chunk->first_row;
    part->count = chunk->count;
}

static bool holds(const struct chunk *chunk, uint32_t i, const struct search_rows_place *place)
{
    return weir_column_at(&chunk->files, i) == place->file &&
           place->offset >= offset_of(chunk, i) &&
           place->offset + place->length <= end_of(chunk, i);
}

static bool begins_by(struct search_rows *rows, const struct chunk *chunk, size_t i,
                      uint64_t offset)
{
    rows->compared++;
    return offset_of(chunk, (uint32_t)i) <= offset;
}

static uint32_t find_sorted(struct search_rows *rows, const struct search_part *part,
                            const struct chunk *chunk, const struct search_rows_place *place,
                            uint32_t after)
{
    size_t low = part->first, high = part->end;
    uint32_t last;

    WEIR_BISECT(low, high, middle, begins_by(rows, chunk, middle, place->offset));
    last = (uint32_t)low - 1;
    return low > part->first && last >= after && holds(chunk, last, place) ? last : UINT32_MAX;
}

uint32_t storage_search_part_find(struct search_rows *rows, const struct search_part *part,
                                  const struct chunk *chunk, const struct search_rows_place *place,
                                  uint32_t after)
{
    if (part->is_sorted)
        return find_sorted(rows, part, chunk, place, after);
    for (uint32_t i = after > part->first ? after : part->first; i < part->end; i++) {
        rows->compared++;
        if (holds(chunk, i, place))
            return i;
    }
    return UINT32_MAX;
}

/* ---- all of them ---- */

static void make_parts(struct search_rows *rows, size_t count)
{
    if (rows->count == count)
        return;
    if (rows->capacity < count) {
        rows->parts = weir_realloc(rows->parts, count, sizeof(*rows->parts));
        rows->capacity = count;
    }
    if (count > 0)
        memset(rows->parts, 0, count * sizeof(*rows->parts));
    rows->count = count;
}

/* False: the chunk is to be looked at, or again as it was merged with another one since. */
static bool is_known(const struct search_part *part, const struct chunk_ref *ref)
{
    return part->count == ref->count && part->block == ref->block &&
           part->first_row == ref->first_row;
}

static bool is_within(const struct search_part *part, const struct search_rows_place *place)
{
    return place->offset >= part->from && place->offset + place->length <= part->to;
}

static bool is_live(struct search_rows *rows, const struct search_part *part,
                    const struct chunk *chunk, const struct search_rows_place *place)
{
    uint32_t i = 0;

    while ((i = storage_search_part_find(rows, part, chunk, place, i)) != UINT32_MAX) {
        if (!storage_dataset_is_dead(place->dataset, chunk->block, chunk->first_row + i))
            return true;
        i++;
    }
    return false;
}

enum weir_status storage_search_rows_are_live(struct search_rows *rows, struct store *store,
                                              const struct search_rows_place *place, bool *ret_live,
                                              struct weir_error *err)
{
    enum weir_status status = WEIR_OK;

    *ret_live = false;
    make_parts(rows, place->span.end - place->span.first);
    for (size_t i = 0; status == WEIR_OK && !*ret_live && i < rows->count; i++) {
        const struct chunk_ref *ref = &place->dataset->chunks[place->span.first + i];
        struct search_part *part = &rows->parts[i];
        const struct chunk *chunk;

        if (is_known(part, ref) && !is_within(part, place))
            continue;
        status = storage_chunk_cache_get(store->cache, store->db, place->dataset, ref, &chunk, err);
        if (status != WEIR_OK)
            break;
        if (!is_known(part, ref))
            storage_search_part_look(rows, part, chunk, place->file);
        *ret_live = is_within(part, place) && is_live(rows, part, chunk, place);
    }
    return status;
}
