/* Chunks as they are packed in Postgres, what was not used for long dropped first: the hot path of
 * locate, read and columns has no database in it. Owned by struct storage. */
#ifndef WEIR_STORAGE_CHUNK_CACHE_H
#define WEIR_STORAGE_CHUNK_CACHE_H

#include "core/wire/column.h"
#include "storage/catalog/catalog.h"

enum { CHUNK_CACHE_BYTES = 64 << 20 };

/* One view per column, `count` values each. */
struct chunk {
    uint32_t dataset, block, first_row, count;
    struct weir_column_view times, labels, files, offsets, lengths;
    struct weir_bytes values; /* of labels that are vectors (label_values.h), row by row */
};

struct chunk_cache;

/* `bytes_max` of packed columns; a chunk that alone is larger is held all the same. */
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
