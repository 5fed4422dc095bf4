/* The frame of a bounded cache: entries found by the hash of their keys, and which of them is to make room. Entries lie
 * in structs of the caller's, who owns them, bounds them, and compares keys: the cache offers each entry that has the
 * hash.
 *
 *     struct weir_cache_entry *entry = weir_cache_find(&cache, hash);
 *     while (entry != NULL && !is_it(entry->owner, key))
 *         entry = weir_cache_find_next(entry);
 *
 * All take O(1), amortised, and nothing but weir_cache_add() may allocate memory. Making room spares once what was used
 * since it was last spared (second chance): a hit then costs one store, where moving the entry to the end of a list
 * would touch its neighbours. */
#ifndef WEIR_BASE_CACHE_H
#define WEIR_BASE_CACHE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/queue.h>

struct weir_cache_entry {
    LIST_ENTRY(weir_cache_entry) in_bucket;
    TAILQ_ENTRY(weir_cache_entry) in_order;
    uint64_t hash;
    size_t size;
    bool is_used; /* since it was last spared: the caller sets it */
    void *owner;
};

/* Zeroed is empty. */
struct weir_cache {
    LIST_HEAD(weir_cache_bucket, weir_cache_entry) * buckets;
    size_t bucket_count; /* a power of two; 0: none yet */
    TAILQ_HEAD(weir_cache_order, weir_cache_entry) order;
    size_t count;
    size_t size; /* of all entries, in the caller's unit */
};

/* Frees the cache's own memory; it is empty. */
void weir_cache_fini(struct weir_cache *cache);
/* Fills the entry, which is not in a cache, without a look whether its key is there. */
void weir_cache_add(struct weir_cache *cache, struct weir_cache_entry *entry, uint64_t hash,
                    size_t size, void *owner);
void weir_cache_remove(struct weir_cache *cache, struct weir_cache_entry *entry);
/* The owner of the entry that is to make room first; NULL when there is none. */
void *weir_cache_oldest(struct weir_cache *cache);

/* The entries of a hash, in no particular order; NULL: there are no more. */
struct weir_cache_entry *weir_cache_find(const struct weir_cache *cache, uint64_t hash);
struct weir_cache_entry *weir_cache_find_next(const struct weir_cache_entry *entry);

#endif
