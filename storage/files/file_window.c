/* Reading ahead: see file_window.h. */
#include "storage/files/file_window.h"

#include "core/base/file.h"

#include <errno.h>

enum { AHEAD_MIN = 4 << 10, AHEAD_MAX = 256 << 10 };

static enum weir_status fail_short(struct format_range range, struct weir_error *err)
{
    return weir_fail(err, WEIR_STALE, "cannot read %llu bytes at %llu",
                     (unsigned long long)range.length, (unsigned long long)range.offset);
}

/* As much of `wanted` bytes at `offset` as there is; false, and nothing, when they cannot be read. */
static bool read_some(int fd, uint64_t offset, uint64_t wanted, struct weir_buf *buf)
{
    ssize_t got;

    weir_buf_clear(buf);
    weir_buf_reserve(buf, (size_t)wanted + 1);
    got = weir_read_at(fd, buf->at, (size_t)wanted, offset);
    if (got < 0)
        return false;
    errno = 0;
    buf->size = (size_t)got;
    return true;
}

enum weir_status storage_range_read(int fd, struct format_range range, struct weir_buf *buf,
                                    struct weir_error *err)
{
    if (read_some(fd, range.offset, range.length, buf) && buf->size == range.length)
        return WEIR_OK;
    weir_buf_clear(buf);
    return fail_short(range, err);
}

enum weir_status storage_head_read(const struct format *format, int fd, uint64_t size,
                                   struct weir_buf *buf, struct weir_error *err)
{
    uint64_t wanted = size < FORMAT_HEAD_MAX ? size : FORMAT_HEAD_MAX;
    enum weir_status status = storage_range_read(fd, (struct format_range){0, wanted}, buf, err);

    if (status != WEIR_OK || format->head_bytes == NULL)
        return status;
    wanted = format->head_bytes(weir_buf_view(buf));
    if (wanted > FORMAT_RECORD_MAX)
        wanted = FORMAT_RECORD_MAX;
    if (wanted > size)
        wanted = size;
    if (wanted <= buf->size)
        return WEIR_OK;
    return storage_range_read(fd, (struct format_range){0, wanted}, buf, err);
}

/* ---- windows ---- */

/* A single record of a large file costs no more than itself. */
static uint64_t next_ahead(const struct file_window *window, uint64_t offset)
{
    bool is_near =
        window->ahead > 0 && offset >= window->at && offset - window->at <= 2 * window->ahead;

    if (!is_near)
        return AHEAD_MIN;
    return window->ahead < AHEAD_MAX ? 2 * window->ahead : AHEAD_MAX;
}

static bool holds(const struct file_window *window, struct format_range range)
{
    return range.offset >= window->at && range.offset - window->at <= window->bytes.size &&
           range.length <= window->bytes.size - (range.offset - window->at);
}

enum weir_status storage_window_read(struct file_window *window, struct format_range range,
                                     struct weir_bytes *ret_bytes, struct weir_error *err)
{
    if (!holds(window, range)) {
        uint64_t ahead = next_ahead(window, range.offset);

        window->reads++;
        window->ahead = ahead;
        window->at = range.offset;
        if (!read_some(window->fd, range.offset, range.length > ahead ? range.length : ahead,
                       &window->bytes) ||
            window->bytes.size < range.length)
            return fail_short(range, err);
    }
    *ret_bytes = weir_bytes(window->bytes.at + (range.offset - window->at), (size_t)range.length);
    return WEIR_OK;
}

enum weir_status storage_window_head(struct file_window *window, const struct format *format,
                                     uint64_t size, struct weir_bytes *ret_head,
                                     struct weir_error *err)
{
    enum weir_status status = WEIR_OK;

    if (!window->has_head)
        status = storage_head_read(format, window->fd, size, &window->head, err);
    window->has_head = status == WEIR_OK;
    *ret_head = weir_buf_view(&window->head);
    return status;
}

void storage_window_forget(struct file_window *window)
{
    window->has_head = false;
    weir_buf_clear(&window->head);
    weir_buf_clear(&window->bytes);
}

void storage_window_fini(struct file_window *window)
{
    weir_buf_fini(&window->head);
    weir_buf_fini(&window->bytes);
    *window = (struct file_window){.fd = -1};
}
