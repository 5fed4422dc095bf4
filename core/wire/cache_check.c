/* Examining a segment of the cache: see cache_segment.h. */
#include "core/wire/cache_segment.h"

#include "core/base/file.h"

#include <sys/stat.h>

static bool is_zeros(struct weir_bytes bytes)
{
    size_t i = 0;
    while (i < bytes.size && bytes.at[i] == 0)
        i++;
    return i == bytes.size;
}

/* Rows end to end from the table on, and no byte besides. */
static enum weir_status check_extent(const char *path, const struct weir_cache_segment *segment,
                                     struct weir_error *err)
{
    struct stat about;
    uint64_t end = WEIR_CACHE_TABLE_AT + (uint64_t)segment->count * WEIR_CACHE_ENTRY_BYTES;
    for (size_t i = 0; i < segment->count; i++) {
        struct weir_cache_segment_entry entry = weir_cache_entry_at(segment->table, i);
        if (entry.offset != end)
            return weir_fail(err, WEIR_CORRUPT, "%s: row %zu is at byte %lu, expected at %lu", path,
                             i, entry.offset, end);
        end += entry.stored;
    }
    if (fstat(segment->fd, &about) != 0 || (uint64_t)about.st_size != end || segment->bytes != end)
        return weir_fail(err, WEIR_CORRUPT, "%s: %lu bytes of %zu rows, expected %lu", path,
                         segment->bytes, segment->count, end);
    return WEIR_OK;
}

/* A row that was overwritten is zeros; nothing else says so. */
static enum weir_status check_row(const char *path, const struct weir_cache_segment *segment,
                                  size_t row, bool is_erased, struct weir_cache_checked *sum,
                                  struct weir_error *err)
{
    WEIR_AUTO_BUF stored = {0};
    WEIR_AUTO_BUF room = {0};
    struct weir_bytes expanded;
    struct weir_cache_segment_entry entry = weir_cache_entry_at(segment->table, row);
    weir_buf_reserve(&stored, entry.stored);
    stored.size = entry.stored;
    if (weir_read_at(segment->fd, stored.at, entry.stored, entry.offset) != (ssize_t)entry.stored)
        return weir_fail(err, WEIR_CORRUPT, "%s: row %zu cannot be read", path, row);
    if (is_zeros(weir_buf_view(&stored)))
        return WEIR_OK;
    sum->erased += is_erased;
    if (!weir_cache_row_read(&entry, weir_buf_view(&stored), &room, &expanded))
        return weir_fail(err, WEIR_CORRUPT, "%s: row %zu differs from its checksum", path, row);
    return WEIR_OK;
}

enum weir_status weir_cache_segment_check(const char *path, bool is_deep,
                                          weir_cache_is_erased_fn *is_erased, const void *owner,
                                          struct weir_cache_checked *sum, struct weir_error *err)
{
    struct weir_cache_segment segment = {.fd = -1};
    enum weir_status status = weir_cache_segment_open(path, false, &segment, err);
    if (status == WEIR_NOT_FOUND) /* evicted meanwhile */
        return WEIR_OK;
    if (status == WEIR_OK)
        status = check_extent(path, &segment, err);
    for (size_t i = 0; i < segment.count && status == WEIR_OK; i++) {
        bool is_gone = is_erased(owner, weir_cache_entry_at(segment.table, i).id);
        if (is_gone || is_deep)
            status = check_row(path, &segment, i, is_gone, sum, err);
    }
    sum->segments++;
    sum->rows += segment.count;
    sum->bytes += segment.bytes;
    weir_cache_segment_close(&segment);
    return status;
}
