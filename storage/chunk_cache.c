/* An LRU of decoded chunks: a hash table of slots on a list, newest first. */
#include "storage/chunk_cache.h"

#include "core/base/memory.h"
#include "core/base/rng.h"
#include "storage/column.h"
#include "storage/queries.h"

#include <stdlib.h>

enum { COLUMNS = 5, BUCKETS = 4096 };

struct slot {
    struct chunk chunk;
    int64_t *values; /* all columns end to end */
    size_t bytes;
    struct slot *next_in_bucket;
    struct slot *newer, *older;
};

struct chunk_cache {
    size_t bytes_max;
    size_t bytes;
    struct slot *buckets[BUCKETS];
    struct slot *newest, *oldest;
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

static void unlink_slot(struct chunk_cache *cache, struct slot *slot)
{
    *(slot->newer ? &slot->newer->older : &cache->newest) = slot->older;
    *(slot->older ? &slot->older->newer : &cache->oldest) = slot->newer;
    slot->newer = slot->older = NULL;
}

static void push_newest(struct chunk_cache *cache, struct slot *slot)
{
    slot->older = cache->newest;
    *(cache->newest ? &cache->newest->newer : &cache->oldest) = slot;
    cache->newest = slot;
}

static void drop_oldest(struct chunk_cache *cache)
{
    struct slot *slot = cache->oldest;
    struct slot **at =
        bucket_of(cache, slot->chunk.dataset, slot->chunk.block, slot->chunk.first_row);

    while (*at != slot)
        at = &(*at)->next_in_bucket;
    *at = slot->next_in_bucket;
    cache->oldest = slot->newer;
    *(slot->newer ? &slot->newer->older : &cache->newest) = NULL;
    cache->bytes -= slot->bytes;
    free(slot->values);
    free(slot);
}

void storage_chunk_cache_clear(struct chunk_cache *cache)
{
    while (cache->oldest)
        drop_oldest(cache);
}

void storage_chunk_cache_free(struct chunk_cache *cache)
{
    if (!cache)
        return;
    storage_chunk_cache_clear(cache);
    free(cache);
}

static struct slot *find(struct chunk_cache *cache, uint32_t dataset, const struct chunk_ref *ref)
{
    struct slot *slot = *bucket_of(cache, dataset, ref->block, ref->first_row);

    while (slot && (slot->chunk.dataset != dataset || slot->chunk.block != ref->block ||
                    slot->chunk.first_row != ref->first_row))
        slot = slot->next_in_bucket;
    return slot;
}

static enum weir_status load(struct weir_db *db, const struct dataset *dataset,
                             const struct chunk_ref *ref, struct slot *slot, struct weir_error *err)
{
    WEIR_AUTO(weir_rows) rows = NULL;
    enum weir_status status = DB_RUN(db, Q_chunk_read, &rows, err, DB_I64(dataset->number),
                                     DB_I64(ref->block), DB_I64(ref->first_row));

    if (status != WEIR_OK)
        return status;
    if (weir_rows_count(rows) != 1)
        return weir_fail(err, WEIR_CORRUPT, "dataset '%s': chunk %u:%u is missing", dataset->name,
                         ref->block, ref->first_row);
    for (int i = 0; status == WEIR_OK && i < COLUMNS; i++)
        status = storage_column_unpack(weir_rows_bytes(rows, 0, i),
                                       slot->values + (size_t)i * ref->count, ref->count, err);
    return status;
}

static struct slot *new_slot(const struct dataset *dataset, const struct chunk_ref *ref)
{
    struct slot *slot = weir_calloc(1, sizeof *slot);
    size_t n = ref->count;

    slot->values = weir_calloc(n * COLUMNS, sizeof *slot->values);
    slot->bytes = sizeof *slot + n * COLUMNS * sizeof *slot->values;
    slot->chunk = (struct chunk){
        .dataset = dataset->number,
        .block = ref->block,
        .first_row = ref->first_row,
        .count = ref->count,
        .times = slot->values,
        .labels = slot->values + n,
        .files = slot->values + 2 * n,
        .offsets = slot->values + 3 * n,
        .lengths = slot->values + 4 * n,
    };
    return slot;
}

enum weir_status storage_chunk_cache_get(struct chunk_cache *cache, struct weir_db *db,
                                         const struct dataset *dataset, const struct chunk_ref *ref,
                                         const struct chunk **ret_chunk, struct weir_error *err)
{
    struct slot *slot = find(cache, dataset->number, ref);
    struct slot **bucket;
    enum weir_status status;

    if (slot) {
        unlink_slot(cache, slot);
        push_newest(cache, slot);
        *ret_chunk = &slot->chunk;
        return WEIR_OK;
    }
    slot = new_slot(dataset, ref);
    status = load(db, dataset, ref, slot, err);
    if (status != WEIR_OK) {
        free(slot->values);
        free(slot);
        return status;
    }
    while (cache->oldest && cache->bytes + slot->bytes > cache->bytes_max)
        drop_oldest(cache);
    bucket = bucket_of(cache, dataset->number, ref->block, ref->first_row);
    slot->next_in_bucket = *bucket;
    *bucket = slot;
    cache->bytes += slot->bytes;
    push_newest(cache, slot);
    *ret_chunk = &slot->chunk;
    return WEIR_OK;
}
