/* What belongs to a sample: see extent.h. */
#include "storage/intake/extent.h"

#include "core/base/file.h"

#include <string.h>
#include <unistd.h>

void storage_extent_fini(struct extent *extent)
{
    weir_buf_fini(&extent->erased);
}

enum weir_status storage_range_read(int fd, struct format_range range, struct weir_buf *buf,
                                    struct weir_error *err)
{
    weir_buf_clear(buf);
    weir_buf_reserve(buf, (size_t)range.length + 1);
    if (weir_read_at(fd, buf->at, (size_t)range.length, range.offset) != (ssize_t)range.length)
        return weir_fail(err, WEIR_STALE, "cannot read %llu bytes at %llu",
                         (unsigned long long)range.length, (unsigned long long)range.offset);
    buf->size = (size_t)range.length;
    return WEIR_OK;
}

enum weir_status storage_head_read(const struct format *format, int fd, uint64_t size,
                                   struct weir_buf *buf, struct weir_error *err)
{
    uint64_t wanted = size < FORMAT_HEAD_MAX ? size : FORMAT_HEAD_MAX;
    enum weir_status status = storage_range_read(fd, (struct format_range){0, wanted}, buf, err);

    if (status != WEIR_OK || !format->head_bytes)
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

void storage_extent_erase(const struct declaration *declaration, struct weir_bytes head,
                          uint8_t *bytes, size_t size)
{
    const struct format *format = declaration->format;

    if (format->scrub)
        format->scrub(head, declaration->options, bytes, size);
    else
        memset(bytes, format->scrub_byte, size);
}

/* Looks for one payload among what index() tells. */
struct hunt {
    struct format_range payload;
    struct extent *extent;
    bool is_found;
};

static void on_sample(void *owner, const struct format_sample *sample)
{
    struct hunt *hunt = owner;

    if (sample->offset != hunt->payload.offset || sample->length != hunt->payload.length)
        return;
    hunt->is_found = true;
    hunt->extent->at = sample->extent.length > 0 ? sample->extent : hunt->payload;
}

static void on_refuse(void *owner, const struct format_refusal *refusal)
{
    (void)owner;
    (void)refusal;
}

static void on_scrubbed(void *owner, struct format_range extent)
{
    struct hunt *hunt = owner;

    if (hunt->payload.offset < extent.offset ||
        hunt->payload.offset - extent.offset >= extent.length)
        return;
    hunt->is_found = hunt->extent->is_scrubbed = true;
    hunt->extent->at = extent;
}

static enum weir_status look_from(const struct declaration *d, int fd, struct format_input *input,
                                  struct hunt *hunt, struct weir_error *err)
{
    static const struct format_fields NONE;
    const struct format_sink sink = {
        .owner = hunt, .sample = on_sample, .refuse = on_refuse, .scrubbed = on_scrubbed};
    struct format_progress progress = {.consumed = 0};
    WEIR_AUTO_BUF window = {0};
    uint64_t size = FORMAT_WINDOW_BYTES;
    enum weir_status status = WEIR_OK;

    while (status == WEIR_OK && !hunt->is_found && !progress.is_stuck &&
           input->at <= hunt->payload.offset) {
        uint64_t left = input->size - input->at;

        size = size < FORMAT_RECORD_MAX ? size : FORMAT_RECORD_MAX;
        input->is_last = size >= left;
        input->is_full = size == FORMAT_RECORD_MAX;
        status = storage_range_read(
            fd, (struct format_range){input->at, input->is_last ? left : size}, &window, err);
        input->window = weir_buf_view(&window);
        if (status == WEIR_OK)
            status = d->format->index(input, d->options, &NONE, &sink, &progress, err);
        if (status != WEIR_OK || input->is_last)
            break;
        size = progress.consumed == 0 ? 4 * size : FORMAT_WINDOW_BYTES;
        input->at += progress.consumed;
    }
    return status;
}

static enum weir_status find(const struct declaration *d, const struct extent_place *place,
                             struct weir_bytes head, struct extent *extent, struct weir_error *err)
{
    struct hunt hunt = {.payload = place->payload, .extent = extent};
    struct format_input input = {.head = head, .size = place->size};
    enum weir_status status = WEIR_OK;

    if (d->format->behind && place->from > 0) {
        input.at = d->format->behind(place->from);
        status = look_from(d, place->fd, &input, &hunt, err);
    }
    if (status == WEIR_OK && !hunt.is_found) {
        input.at = 0;
        status = look_from(d, place->fd, &input, &hunt, err);
    }
    if (status == WEIR_OK && !hunt.is_found)
        return weir_fail(err, WEIR_STALE, "the record is not there any more");
    return status;
}

enum weir_status storage_extent_read(const struct declaration *d, const struct extent_place *place,
                                     struct extent *ret_extent, struct weir_error *err)
{
    struct extent extent = {.at = place->payload};
    WEIR_AUTO_BUF head = {0};
    enum weir_status status = storage_head_read(d->format, place->fd, place->size, &head, err);

    if (status == WEIR_OK && d->format->scrub)
        status = find(d, place, weir_buf_view(&head), &extent, err);
    if (status == WEIR_OK)
        status = storage_range_read(place->fd, extent.at, &extent.erased, err);
    if (status != WEIR_OK) {
        storage_extent_fini(&extent);
        return status == WEIR_INVALID ? WEIR_STALE : status;
    }
    storage_extent_erase(d, weir_buf_view(&head), extent.erased.at, extent.erased.size);
    *ret_extent = extent;
    return WEIR_OK;
}

enum weir_status storage_extent_resume(const struct declaration *d,
                                       const struct extent_place *place, struct format_range at,
                                       struct extent *ret_extent, struct weir_error *err)
{
    struct extent extent = {.at = at, .is_scrubbed = true};
    WEIR_AUTO_BUF head = {0};
    enum weir_status status = storage_head_read(d->format, place->fd, place->size, &head, err);

    if (status == WEIR_OK && (at.length > place->size || at.offset > place->size - at.length))
        status = weir_fail(err, WEIR_STALE, "the file has become shorter");
    if (status == WEIR_OK)
        status = storage_range_read(place->fd, at, &extent.erased, err);
    if (status != WEIR_OK) {
        storage_extent_fini(&extent);
        return status;
    }
    storage_extent_erase(d, weir_buf_view(&head), extent.erased.at, extent.erased.size);
    *ret_extent = extent;
    return WEIR_OK;
}
