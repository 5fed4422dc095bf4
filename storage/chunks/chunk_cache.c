/* A hash table of slots on a ring. A hand goes round when room is needed, and spares once what was
 * used since it last passed (second chance): a hit then costs one store, where moving the slot to the
 * front of a list would touch its neighbours. */
#include "storage/chunks/chunk_cache.h"

#include "core/base/memory.h"
#include "core/base/rng.h"
#include "storage/sql/queries.h"

#include <stdlib.h>
#include <string.h>

enum { COLUMNS = 5, BUCKETS = 1 << 16 };

struct slot {
    struct chunk chunk;
    bool is_used; /* since the hand passed */
    size_t bytes;
    struct slot *next_in_bucket;
    struct slot *next, *before; /* on the ring */
    uint8_t packed[];           /* all columns end to end, vectors, and padding */
};

struct chunk_cache {
    size_t bytes_max;
    size_t bytes;
    struct slot *hand; /* what it looks at next; new slots come in behind it */
    struct slot *buckets[BUCKETS];
};

struct chunk_cache *storage_chunk_cache_new(size_t bytes_max)
{
    struct chunk_cache *cache = weir_calloc(1, sizeof *cache);

    cache->bytes_max = bytes_max;
    return cache;
}

static struct slot **bucket_of(struct chunk_cache *cache, uint32_t dataset, uint32_t block,
                               uint32_t first_row)
{
    return &cache->buckets[weir_mix64(weir_sample_id(dataset, block, first_row)) % BUCKETS];
}

static void put(struct chunk_cache *cache, struct slot *slot)
{
    struct slot **bucket =
        bucket_of(cache, slot->chunk.dataset, slot->chunk.block, slot->chunk.first_row);
    struct slot *hand = cache->hand ? cache->hand : slot;

    slot->next_in_bucket = *bucket;
    *bucket = slot;
    slot->next = hand;
    slot->before = hand->before ? hand->before : slot;
    slot->before->next = slot;
    hand->before = slot;
    cache->hand = hand;
    cache->bytes += slot->bytes;
}

static void drop(struct chunk_cache *cache, struct slot *slot)
{
    struct slot **at =
        bucket_of(cache, slot->chunk.dataset, slot->chunk.block, slot->chunk.first_row);

    while (*at != slot)
        at = &(*at)->next_in_bucket;
    *at = slot->next_in_bucket;
    slot->before->next = slot->next;
    slot->next->before = slot->before;
    cache->hand = slot->next != slot ? slot->next : NULL;
    cache->bytes -= slot->bytes;
    free(slot);
}

static void make_room(struct chunk_cache *cache, size_t bytes)
{
    while (cache->hand && cache->bytes + bytes > cache->bytes_max) {
        struct slot *slot = cache->hand;

        if (!slot->is_used) {
            drop(cache, slot);
            continue;
        }
        slot->is_used = false;
        cache->hand = slot->next;
    }
}

void storage_chunk_cache_clear(struct chunk_cache *cache)
{
    while (cache->hand)
        drop(cache, cache->hand);
}

void storage_chunk_cache_free(struct chunk_cache *cache)
{
    if (!cache)
        return;
    storage_chunk_cache_clear(cache);
    free(cache);
}

/* Of `count` rows: a chunk that was merged with its neighbours begins where its first part did. */
static struct slot *find(struct chunk_cache *cache, uint32_t dataset, const struct chunk_ref *ref)
{
    struct slot *slot = *bucket_of(cache, dataset, ref->block, ref->first_row);

    while (slot && (slot->chunk.dataset != dataset || slot->chunk.block != ref->block ||
                    slot->chunk.first_row != ref->first_row || slot->chunk.count != ref->count))
        slot = slot->next_in_bucket;
    return slot;
}

static enum weir_status view_columns(const struct weir_rows *rows, struct slot *slot,
                                     struct weir_error *err)
{
    struct chunk *chunk = &slot->chunk;
    struct weir_column_view *const views[COLUMNS] = {&chunk->times, &chunk->labels, &chunk->files,
                                                     &chunk->offsets, &chunk->lengths};
    uint8_t *at = slot->packed;
    enum weir_status status = WEIR_OK;

    for (int i = 0; status == WEIR_OK && i < COLUMNS; i++) {
        struct weir_bytes column = weir_rows_bytes(rows, 0, i);

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
    struct weir_bytes values = weir_rows_bytes(rows, 0, COLUMNS);
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
    for (int i = 0; i <= COLUMNS; i++)
        bytes += weir_rows_bytes(rows, 0, i).size;
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

    if (!slot) {
        enum weir_status status = load(db, dataset, ref, &slot, err);

        if (status != WEIR_OK)
            return status;
        make_room(cache, slot->bytes);
        put(cache, slot);
    }
    slot->is_used = true;
    *ret_chunk = &slot->chunk;
    return WEIR_OK;
}
