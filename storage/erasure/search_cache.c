/* Owners of the bytes of a segment: see search_cache.h. */
#include "storage/erasure/search_cache.h"

#include "core/base/bisect.h"
#include "core/base/memory.h"
#include "storage/reading/serve.h"

#include <string.h>

void storage_search_cache_open(struct search_cache *cache, const char *data_dir, const char *path)
{
    static const char FOLDER[] = WEIR_CACHE_FOLDER "/";
    WEIR_AUTO_FREE char *place = weir_format("%s/%s", data_dir, path);
    struct weir_error err;

    if (strncmp(path, FOLDER, sizeof(FOLDER) - 1) != 0 || !weir_cache_is_segment(path))
        return;
    if (weir_cache_segment_open(place, false, &cache->segment, &err) != WEIR_OK)
        *cache = (struct search_cache){0};
}

void storage_search_cache_close(struct search_cache *cache)
{
    if (cache->segment.table != NULL)
        weir_cache_segment_close(&cache->segment);
    *cache = (struct search_cache){0};
}

/* Rows follow each other: a place may begin in one and end in another. */
enum weir_status storage_search_cache_is_others(const struct search_cache *cache,
                                                struct store *store, uint64_t offset, size_t length,
                                                bool *ret_is_others, struct weir_error *err)
{
    const uint8_t *table = cache->segment.table;
    size_t count = table != NULL ? cache->segment.count : 0, low = 0, high = count;
    enum weir_status status = WEIR_OK;

    WEIR_BISECT(low, high, middle, weir_cache_entry_at(table, middle).offset <= offset);
    *ret_is_others = low > 0;
    for (size_t row = low - 1; *ret_is_others && row < count && status == WEIR_OK; row++) {
        struct weir_cache_segment_entry entry = weir_cache_entry_at(table, row);
        struct located found;

        if (entry.offset >= offset + length)
            break;
        status = storage_find(store, entry.id, &found, err);
        *ret_is_others = status == WEIR_OK && found.state != WEIR_SAMPLE_ERASED;
    }
    return status;
}
