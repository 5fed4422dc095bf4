/* The bytes that belong to a sample: see extent.h. */
#include "storage/files/extent.h"

#include <string.h>

enum { BEHIND_BYTES = 4 << 10 };

void storage_extent_fini(struct extent *extent)
{
    weir_buf_fini(&extent->erased);
}

void storage_extent_erase(const struct declaration *declaration, struct weir_bytes head,
                          uint8_t *bytes, size_t size)
{
    const struct format *format = declaration->format;

    if (format->scrub != NULL)
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

/* Number of bytes looked through first: the payload, and those a format needs to see after it. */
static uint64_t first_bytes(const struct format_input *input, struct format_range payload)
{
    uint64_t end = payload.offset + payload.length - input->at + BEHIND_BYTES;

    return end < FORMAT_WINDOW_BYTES ? end : FORMAT_WINDOW_BYTES;
}

static enum weir_status look_from(const struct declaration *d, struct file_window *window,
                                  struct format_input *input, struct hunt *hunt,
                                  struct weir_error *err)
{
    static const struct format_fields NONE;
    const struct format_sink sink = {
        .owner = hunt, .sample = on_sample, .refuse = on_refuse, .scrubbed = on_scrubbed};
    struct format_progress progress = {.consumed = 0};
    uint64_t size = 0;
    enum weir_status status = WEIR_OK;

    while (status == WEIR_OK && !hunt->is_found && !progress.is_stuck &&
           input->at <= hunt->payload.offset) {
        uint64_t left = input->size - input->at;

        size = size == 0 ? first_bytes(input, hunt->payload) : size;
        size = size < FORMAT_RECORD_MAX ? size : FORMAT_RECORD_MAX;
        input->is_last = size >= left;
        input->is_full = size == FORMAT_RECORD_MAX;
        status = storage_window_read(window,
                                     (struct format_range){input->at, input->is_last ? left : size},
                                     &input->window, err);
        if (status == WEIR_OK)
            status = d->format->index(input, d->options, &NONE, &sink, &progress, err);
        if (status != WEIR_OK || input->is_last)
            break;
        size = progress.consumed == 0 ? 4 * size : 0;
        input->at += progress.consumed;
        input->record = progress.record;
    }
    return status;
}

static enum weir_status find(const struct declaration *d, const struct extent_place *place,
                             struct weir_bytes head, struct extent *extent, struct weir_error *err)
{
    struct hunt hunt = {.payload = place->payload, .extent = extent};
    struct format_input input = {.head = head, .size = place->size};
    struct format_start start = {0};
    enum weir_status status = WEIR_OK;

    if (d->format->start != NULL)
        start = d->format->start(head, place->from, place->payload.offset);
    if (start.at > 0 && start.at <= place->size) {
        input.at = start.at;
        input.record = start.record;
        status = look_from(d, place->window, &input, &hunt, err);
    }
    if (status == WEIR_OK && !hunt.is_found) {
        input.at = input.record = 0;
        status = look_from(d, place->window, &input, &hunt, err);
    }
    if (status == WEIR_OK && !hunt.is_found)
        return weir_fail(err, WEIR_STALE, "the record is gone");
    return status;
}

/* All of the extent, as it will be overwritten. */
static enum weir_status take(const struct declaration *d, const struct extent_place *place,
                             struct weir_bytes head, struct extent *extent, struct weir_error *err)
{
    const struct format_range at = extent->at;
    struct weir_bytes bytes;
    enum weir_status status;

    if (at.length > place->size || at.offset > place->size - at.length)
        return weir_fail(err, WEIR_STALE, "the file has become shorter");
    status = storage_window_read(place->window, at, &bytes, err);
    if (status != WEIR_OK)
        return status;
    weir_buf_append(&extent->erased, bytes.at, bytes.size);
    storage_extent_erase(d, head, extent->erased.at, extent->erased.size);
    return WEIR_OK;
}

/* Reads the head of the file. A format without a way of its own to write over has the payload overwritten, and needs
 * none. */
static enum weir_status read_head(const struct declaration *d, const struct extent_place *place,
                                  struct weir_bytes *ret_head, struct weir_error *err)
{
    *ret_head = weir_bytes(NULL, 0);
    if (d->format->scrub == NULL)
        return WEIR_OK;
    return storage_window_head(place->window, d->format, place->size, ret_head, err);
}

enum weir_status storage_extent_read(const struct declaration *d, const struct extent_place *place,
                                     struct extent *ret_extent, struct weir_error *err)
{
    struct extent extent = {.at = place->payload};
    struct weir_bytes head;
    enum weir_status status = read_head(d, place, &head, err);

    if (status == WEIR_OK && d->format->scrub != NULL)
        status = find(d, place, head, &extent, err);
    if (status == WEIR_OK)
        status = take(d, place, head, &extent, err);
    if (status == WEIR_OK)
        *ret_extent = extent;
    return status == WEIR_INVALID ? WEIR_STALE : status;
}

enum weir_status storage_extent_resume(const struct declaration *d,
                                       const struct extent_place *place, struct format_range at,
                                       struct extent *ret_extent, struct weir_error *err)
{
    struct extent extent = {.at = at, .is_scrubbed = true};
    struct weir_bytes head;
    enum weir_status status = read_head(d, place, &head, err);

    if (status == WEIR_OK)
        status = take(d, place, head, &extent, err);
    if (status == WEIR_OK)
        *ret_extent = extent;
    return status;
}
