/* Decoded chunks, the least recently used dropped first: the hot path of locate, read and columns has
 * no database in it. Owned by struct storage. */
#ifndef WEIR_STORAGE_CHUNK_CACHE_H
#define WEIR_STORAGE_CHUNK_CACHE_H

#include "storage/catalog.h"

enum { CHUNK_CACHE_BYTES = 64 << 20 };

/* One array per column, `count` long. */
struct chunk {
    uint32_t dataset, block, first_row, count;
    const int64_t *times, *labels, *files, *offsets, *lengths;
};

struct chunk_cache;

struct chunk_cache *storage_chunk_cache_new(size_t bytes_max);
void storage_chunk_cache_free(struct chunk_cache *cache);

/* The columns of a chunk, from memory or Postgres; borrowed until the next call. UNAVAILABLE without
 * the database, CORRUPT when a column is not what its row says. */
enum weir_status storage_chunk_cache_get(struct chunk_cache *cache, struct weir_db *db,
                                         const struct dataset *dataset, const struct chunk_ref *ref,
                                         const struct chunk **ret_chunk,
                                         struct weir_error *err) WEIR_MUST_USE;
/* Forgets what it holds, for example after an erasure rewrote columns. */
void storage_chunk_cache_clear(struct chunk_cache *cache);

#endif
