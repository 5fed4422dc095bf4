/* Owners of the bytes of a segment of the cache (core/wire/cache_segment.h): what a row of a sample that is not erased
 * holds is no find, whoever has the same in common with it. */
#ifndef WEIR_STORAGE_SEARCH_CACHE_H
#define WEIR_STORAGE_SEARCH_CACHE_H

#include "core/wire/cache_segment.h"
#include "storage/store/store.h"

/* Zeroed: the file is no segment. */
struct search_cache {
    struct weir_cache_segment segment; /* table NULL: none */
};

/* Takes the table of the file at `path`, below the data directory. One that is no good segment has no rows. */
void storage_search_cache_open(struct search_cache *cache, const char *data_dir, const char *path);
void storage_search_cache_close(struct search_cache *cache);
/* Finds whether a place lies in a row of a sample that is not erased. UNAVAILABLE without the database. */
enum weir_status storage_search_cache_is_others(const struct search_cache *cache,
                                                struct store *store, uint64_t offset, size_t length,
                                                bool *ret_is_others,
                                                struct weir_error *err) WEIR_MUST_USE;

#endif
