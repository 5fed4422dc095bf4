/* Slots in a bounded cache: see chunk_cache.h. */
#include "storage/chunks/chunk_cache.h"

#include "core/base/cache.h"
#include "core/base/memory.h"
#include "core/base/rng.h"
#include "storage/sql/queries.h"

#include <stdlib.h>
#include <string.h>

/* Of Q_chunk_read, in the order in which they lie in a slot; the vectors of labels follow. */
static const char *const COLUMNS[] = {"times", "labels", "files", "offsets", "lengths"};

struct slot {
    struct chunk chunk;
    struct weir_cache_entry entry;
    size_t bytes;
    uint8_t packed[]; /* all columns end to end, vectors, and padding */
};

struct chunk_cache {
    size_t bytes_max;
    struct weir_cache slots; /* their size is that in bytes */
};

struct chunk_cache *storage_chunk_cache_new(size_t bytes_max)
{
    struct chunk_cache *cache = weir_calloc(1, sizeof(*cache));

    cache->bytes_max = bytes_max;
    return cache;
}

static uint64_t hash_of(uint32_t dataset, uint32_t block, uint32_t first_row)
{
    return weir_mix64(weir_sample_id(dataset, block, first_row));
}

static void put(struct chunk_cache *cache, struct slot *slot)
{
    const struct chunk *chunk = &slot->chunk;

    weir_cache_add(&cache->slots, &slot->entry,
                   hash_of(chunk->dataset, chunk->block, chunk->first_row), slot->bytes, slot);
}

/* False when there is none. */
static bool drop_oldest(struct chunk_cache *cache)
{
    struct slot *slot = weir_cache_oldest(&cache->slots);

    if (slot == NULL)
        return false;
    weir_cache_remove(&cache->slots, &slot->entry);
    free(slot);
    return true;
}

static void make_room(struct chunk_cache *cache, size_t bytes)
{
    while (cache->slots.size + bytes > cache->bytes_max && drop_oldest(cache))
        ;
}

void storage_chunk_cache_clear(struct chunk_cache *cache)
{
    while (drop_oldest(cache))
        ;
}

void storage_chunk_cache_free(struct chunk_cache *cache)
{
    if (cache == NULL)
        return;
    storage_chunk_cache_clear(cache);
    weir_cache_fini(&cache->slots);
    free(cache);
}

static bool is_of(const struct slot *slot, uint32_t dataset, const struct chunk_ref *ref)
{
    return slot->chunk.dataset == dataset && slot->chunk.block == ref->block &&
           slot->chunk.first_row == ref->first_row && slot->chunk.count == ref->count;
}

/* The slot of a chunk of `count` rows: one that was merged with its neighbours begins where its first part did. */
static struct slot *find(const struct chunk_cache *cache, uint32_t dataset,
                         const struct chunk_ref *ref)
{
    struct weir_cache_entry *entry =
        weir_cache_find(&cache->slots, hash_of(dataset, ref->block, ref->first_row));

    while (entry != NULL && !is_of(entry->owner, dataset, ref))
        entry = weir_cache_find_next(entry);
    return entry != NULL ? entry->owner : NULL;
}

static enum weir_status view_columns(const struct weir_rows *rows, struct slot *slot,
                                     struct weir_error *err)
{
    struct chunk *chunk = &slot->chunk;
    struct weir_column_view *const views[] = {&chunk->times, &chunk->labels, &chunk->files,
                                              &chunk->offsets, &chunk->lengths};
    uint8_t *at = slot->packed;
    enum weir_status status = WEIR_OK;

    for (size_t i = 0; status == WEIR_OK && i < WEIR_COUNT(COLUMNS); i++) {
        struct weir_bytes column = weir_rows_bytes(rows, 0, COLUMNS[i]);

        if (column.size > 0)
            memcpy(at, column.at, column.size);
        status = weir_column_view(weir_bytes(at, column.size), chunk->count, views[i], err);
        at += column.size;
    }
    return status;
}

/* Vectors follow the columns. */
static enum weir_status view_values(const struct weir_rows *rows, const struct dataset *dataset,
                                    struct slot *slot, struct weir_error *err)
{
    struct weir_bytes values = weir_rows_bytes(rows, 0, "label_values");
    size_t expected = slot->chunk.count * storage_declaration_value_bytes(dataset->declaration);
    uint8_t *at =
        slot->packed + (slot->bytes - sizeof(struct slot) - WEIR_COLUMN_PADDING - values.size);

    if (values.size != expected)
        return weir_fail(err, WEIR_CORRUPT, "vectors of labels: found %zu bytes, expected %zu",
                         values.size, expected);
    if (values.size > 0)
        memcpy(at, values.at, values.size);
    slot->chunk.values = weir_bytes(at, values.size);
    return WEIR_OK;
}

static enum weir_status load(struct weir_db *db, const struct dataset *dataset,
                             const struct chunk_ref *ref, struct slot **ret_slot,
                             struct weir_error *err)
{
    WEIR_AUTO(weir_rows) rows = NULL;
    size_t bytes = sizeof(struct slot) + WEIR_COLUMN_PADDING;
    WEIR_AUTO_FREE struct slot *slot = NULL;
    enum weir_status status = DB_RUN(db, Q_chunk_read, &rows, err, DB_I64(dataset->number),
                                     DB_I64(ref->block), DB_I64(ref->first_row));

    if (status != WEIR_OK)
        return status;
    if (weir_rows_count(rows) != 1)
        return weir_fail(err, WEIR_CORRUPT, "dataset '%s': chunk %u:%u is missing", dataset->name,
                         ref->block, ref->first_row);
    for (size_t i = 0; i < WEIR_COUNT(COLUMNS); i++)
        bytes += weir_rows_bytes(rows, 0, COLUMNS[i]).size;
    bytes += weir_rows_bytes(rows, 0, "label_values").size;
    slot = weir_calloc(1, bytes);
    slot->bytes = bytes;
    slot->chunk = (struct chunk){.dataset = dataset->number,
                                 .block = ref->block,
                                 .first_row = ref->first_row,
                                 .count = ref->count};
    status = view_columns(rows, slot, err);
    if (status == WEIR_OK)
        status = view_values(rows, dataset, slot, err);
    if (status == WEIR_OK)
        *ret_slot = WEIR_TAKE(slot);
    return status;
}

enum weir_status storage_chunk_cache_get(struct chunk_cache *cache, struct weir_db *db,
                                         const struct dataset *dataset, const struct chunk_ref *ref,
                                         const struct chunk **ret_chunk, struct weir_error *err)
{
    struct slot *slot = find(cache, dataset->number, ref);

    if (slot == NULL) {
        enum weir_status status = load(db, dataset, ref, &slot, err);

        if (status != WEIR_OK)
            return status;
        make_room(cache, slot->bytes);
        put(cache, slot);
    }
    slot->entry.is_used = true;
    *ret_chunk = &slot->chunk;
    return WEIR_OK;
}
