/* Erasing rows of the cache: see cache_segment.h. */
#include "core/wire/cache_segment.h"

#include "core/base/fault.h"
#include "core/base/file.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { ZEROS_AT_ONCE = 1 << 16 };

static bool write_zeros(int fd, uint64_t offset, size_t size)
{
    static const uint8_t ZEROS[ZEROS_AT_ONCE];
    while (size > 0) {
        size_t some = size < ZEROS_AT_ONCE ? size : ZEROS_AT_ONCE;
        ssize_t written = pwrite(fd, ZEROS, some, (off_t)offset);
        if (written < 0 && errno != EINTR)
            return false;
        some = written > 0 ? (size_t)written : 0;
        offset += some;
        size -= some;
    }
    return true;
}

/* Finds whether the row was overwritten before, as a whole. */
static enum weir_status is_blank(const struct weir_cache_segment *segment,
                                 const struct weir_cache_segment_entry *entry,
                                 struct weir_buf *room, bool *ret_blank, struct weir_error *err)
{
    weir_buf_clear(room);
    weir_buf_reserve(room, entry->stored);
    if (weir_read_at(segment->fd, room->at, entry->stored, entry->offset) != (ssize_t)entry->stored)
        return weir_fail(err, WEIR_IO, "sample %lu in the cache cannot be read: %s", entry->id,
                         strerror(errno));
    size_t i = 0;
    while (i < entry->stored && room->at[i] == 0)
        i++;
    *ret_blank = i == entry->stored;
    return WEIR_OK;
}

static enum weir_status erase_row(const struct weir_cache_segment *segment,
                                  const struct weir_cache_segment_entry *entry, bool is_dry,
                                  struct weir_buf *room, struct weir_cache_erased *sum,
                                  struct weir_error *err)
{
    bool blank;
    enum weir_status status = is_blank(segment, entry, room, &blank, err);
    if (status != WEIR_OK || blank)
        return status;
    sum->left += is_dry;
    sum->rows += !is_dry;
    if (is_dry)
        return WEIR_OK;
    if (weir_fault("cache.erase") || !write_zeros(segment->fd, entry->offset, entry->stored))
        return weir_fail(err, WEIR_IO, "sample %lu in the cache cannot be overwritten: %s",
                         entry->id, strerror(errno));
    return WEIR_OK;
}

static enum weir_status erase_rows(const struct weir_cache_segment *segment, bool is_dry,
                                   weir_cache_is_erased_fn *is_erased, const void *owner,
                                   struct weir_cache_erased *sum, struct weir_error *err)
{
    WEIR_AUTO_BUF room = {0};
    uint64_t before = sum->rows;
    enum weir_status status = WEIR_OK;
    for (size_t i = 0; i < segment->count && status == WEIR_OK; i++) {
        struct weir_cache_segment_entry entry = weir_cache_entry_at(segment->table, i);
        if (is_erased(owner, entry.id))
            status = erase_row(segment, &entry, is_dry, &room, sum, err);
    }
    if (status == WEIR_OK && sum->rows > before && fdatasync(segment->fd) != 0)
        status =
            weir_fail(err, WEIR_IO, "a segment of the cache cannot be synced: %s", strerror(errno));
    sum->files += sum->rows > before;
    return status;
}

static enum weir_status erase_segment(const char *path, bool is_dry,
                                      weir_cache_is_erased_fn *is_erased, const void *owner,
                                      struct weir_cache_erased *sum, struct weir_error *err)
{
    struct weir_cache_segment segment = {.fd = -1};
    enum weir_status status = weir_cache_segment_open(path, true, &segment, err);
    if (status == WEIR_NOT_FOUND) /* evicted meanwhile */
        return WEIR_OK;
    if (status == WEIR_CORRUPT) {
        sum->left += is_dry;
        return is_dry ? WEIR_OK : weir_remove_tree(path, err);
    }
    if (status == WEIR_OK)
        status = erase_rows(&segment, is_dry, is_erased, owner, sum, err);
    weir_cache_segment_close(&segment);
    return status;
}

enum weir_status weir_cache_segment_erase(const char *path, weir_cache_is_erased_fn *is_erased,
                                          const void *owner, struct weir_cache_erased *sum,
                                          struct weir_error *err)
{
    return erase_segment(path, false, is_erased, owner, sum, err);
}

struct erasing {
    bool is_dry;
    weir_cache_is_erased_fn *is_erased;
    const void *owner;
    struct weir_cache_erased *sum;
};

/* A draft is removed: its writer may not know who is erased. */
static enum weir_status erase_file(void *owner, const char *path, bool is_segment,
                                   struct weir_error *err)
{
    const struct erasing *erasing = owner;
    if (is_segment)
        return erase_segment(path, erasing->is_dry, erasing->is_erased, erasing->owner,
                             erasing->sum, err);
    return erasing->is_dry ? WEIR_OK : weir_remove_tree(path, err);
}

enum weir_status weir_cache_erase(const char *data_dir, bool is_dry,
                                  weir_cache_is_erased_fn *is_erased, const void *owner,
                                  struct weir_cache_erased *sum, struct weir_error *err)
{
    struct erasing erasing = {is_dry, is_erased, owner, sum};
    enum weir_status status = weir_cache_walk(data_dir, erase_file, &erasing, err);
    return status == WEIR_OK && !is_dry ? weir_cache_sync(data_dir, err) : status;
}
