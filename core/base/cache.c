/* Chained buckets, as many as there are entries or more, and a queue that goes round. */
#include "core/base/cache.h"

#include "core/base/memory.h"

#include <stdlib.h>

enum { BUCKETS_MIN = 64 };

static struct weir_cache_bucket *bucket_of(const struct weir_cache *cache, uint64_t hash)
{
    return &cache->buckets[hash & (cache->bucket_count - 1)];
}

static void grow(struct weir_cache *cache)
{
    struct weir_cache_entry *entry;

    if (cache->bucket_count == 0)
        TAILQ_INIT(&cache->order);
    free(cache->buckets);
    cache->bucket_count = cache->bucket_count > 0 ? 2 * cache->bucket_count : BUCKETS_MIN;
    cache->buckets = weir_calloc(cache->bucket_count, sizeof(*cache->buckets));
    TAILQ_FOREACH (entry, &cache->order, in_order)
        LIST_INSERT_HEAD(bucket_of(cache, entry->hash), entry, in_bucket);
}

void weir_cache_fini(struct weir_cache *cache)
{
    free(cache->buckets);
    *cache = (struct weir_cache){0};
}

void weir_cache_add(struct weir_cache *cache, struct weir_cache_entry *entry, uint64_t hash,
                    size_t size, void *owner)
{
    if (cache->count == cache->bucket_count)
        grow(cache);
    *entry = (struct weir_cache_entry){.hash = hash, .size = size, .owner = owner};
    LIST_INSERT_HEAD(bucket_of(cache, hash), entry, in_bucket);
    TAILQ_INSERT_TAIL(&cache->order, entry, in_order);
    cache->count++;
    cache->size += size;
}

void weir_cache_remove(struct weir_cache *cache, struct weir_cache_entry *entry)
{
    LIST_REMOVE(entry, in_bucket);
    TAILQ_REMOVE(&cache->order, entry, in_order);
    cache->count--;
    cache->size -= entry->size;
}

void *weir_cache_oldest(struct weir_cache *cache)
{
    struct weir_cache_entry *entry = cache->count > 0 ? TAILQ_FIRST(&cache->order) : NULL;

    while (entry != NULL && entry->is_used) {
        entry->is_used = false;
        TAILQ_REMOVE(&cache->order, entry, in_order);
        TAILQ_INSERT_TAIL(&cache->order, entry, in_order);
        entry = TAILQ_FIRST(&cache->order);
    }
    return entry != NULL ? entry->owner : NULL;
}

static struct weir_cache_entry *first_of(struct weir_cache_entry *entry, uint64_t hash)
{
    while (entry != NULL && entry->hash != hash)
        entry = LIST_NEXT(entry, in_bucket);
    return entry;
}

struct weir_cache_entry *weir_cache_find(const struct weir_cache *cache, uint64_t hash)
{
    return cache->count > 0 ? first_of(LIST_FIRST(bucket_of(cache, hash)), hash) : NULL;
}

struct weir_cache_entry *weir_cache_find_next(const struct weir_cache_entry *entry)
{
    return first_of(LIST_NEXT(entry, in_bucket), entry->hash);
}
