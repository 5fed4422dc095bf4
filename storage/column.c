/* Packed columns: see column.h. */
#include "storage/column.h"

#include <string.h>

/* Differences are taken as unsigned, so that no spread overflows. */
struct spread {
    int64_t min;
    uint64_t range;
    uint64_t step; /* from each value to the next */
    bool steps;    /* it is the same everywhere */
};

static struct spread measure(const int64_t *values, size_t count)
{
    struct spread spread = {.steps = true};
    int64_t max = count > 0 ? values[0] : 0;

    spread.min = max;
    spread.step = count > 1 ? (uint64_t)values[1] - (uint64_t)values[0] : 0;
    for (size_t i = 0; i < count; i++) {
        if (values[i] < spread.min)
            spread.min = values[i];
        if (values[i] > max)
            max = values[i];
        if ((uint64_t)values[i] != (uint64_t)values[0] + i * spread.step)
            spread.steps = false;
    }
    spread.range = (uint64_t)max - (uint64_t)spread.min;
    /* Up only, and never around the end of 64 bits: SQL adds the steps up as bigint. */
    spread.steps = spread.steps && count > 0 && spread.min == values[0] &&
                   spread.step <= (uint64_t)INT64_MAX / count;
    return spread;
}

static uint8_t width_of(const struct spread *spread)
{
    if (spread->range == 0)
        return 0;
    if (spread->range <= UINT8_MAX)
        return 1;
    if (spread->range <= UINT16_MAX)
        return 2;
    return spread->range <= UINT32_MAX ? 4 : 8;
}

/* Bytes behind the header. */
static size_t body_bytes(uint8_t width, size_t count)
{
    return width == COLUMN_STEPS ? sizeof(uint64_t) : count * width;
}

static void store(const int64_t *values, size_t count, uint64_t base, uint8_t width, uint8_t *at)
{
    for (size_t i = 0; i < count; i++) {
        uint8_t value[8];

        weir_put_u64(value, (uint64_t)values[i] - base);
        memcpy(at + i * width, value, width);
    }
}

void storage_column_pack(const int64_t *values, size_t count, struct weir_buf *out)
{
    struct spread spread = measure(values, count);
    uint8_t width = width_of(&spread);
    uint64_t base;
    uint8_t *at;

    if (spread.steps && body_bytes(width, count) > body_bytes(COLUMN_STEPS, count))
        width = COLUMN_STEPS;
    base = width == 8 ? 0 : (uint64_t)spread.min;
    weir_buf_reserve(out, COLUMN_HEADER_BYTES + body_bytes(width, count));
    at = out->at + out->size;
    at[0] = width;
    weir_put_u64(at + 1, base);
    if (width == COLUMN_STEPS)
        weir_put_u64(at + COLUMN_HEADER_BYTES, spread.step);
    else if (width > 0)
        store(values, count, base, width, at + COLUMN_HEADER_BYTES);
    out->size += COLUMN_HEADER_BYTES + body_bytes(width, count);
}

static bool is_width(uint8_t width)
{
    return width == 0 || width == 1 || width == 2 || width == 4 || width == 8 ||
           width == COLUMN_STEPS;
}

enum weir_status storage_column_view(struct weir_bytes packed, size_t count,
                                     struct column_view *ret_view, struct weir_error *err)
{
    uint8_t width = packed.size >= COLUMN_HEADER_BYTES ? packed.at[0] : 3;

    if (!is_width(width) || packed.size != COLUMN_HEADER_BYTES + body_bytes(width, count))
        return weir_fail(err, WEIR_CORRUPT, "column of %zu bytes is not one of %zu values",
                         packed.size, count);
    *ret_view = (struct column_view){.body = packed.at, .base = weir_get_u64(packed.at + 1)};
    if (width == COLUMN_STEPS) {
        ret_view->step = weir_get_u64(packed.at + COLUMN_HEADER_BYTES);
    } else if (width > 0) {
        ret_view->body = packed.at + COLUMN_HEADER_BYTES;
        ret_view->width = width;
        ret_view->mask = UINT64_MAX >> (64 - 8 * width);
    }
    return WEIR_OK;
}

void storage_column_range(const struct column_view *view, size_t from, size_t count,
                          int64_t *values)
{
    const struct column_view local = *view; /* `values` may alias nothing of it then */

    for (size_t i = 0; i < count; i++)
        values[i] = storage_column_at(&local, from + i);
}

/* As many of the last values as their bytes are read beyond the end of: they are taken from a copy. */
static size_t unpadded(const struct column_view *view, size_t count)
{
    size_t most = view->width > 0 ? COLUMN_PADDING / view->width : 0;

    return most < count ? most : count;
}

enum weir_status storage_column_unpack(struct weir_bytes packed, int64_t *values, size_t count,
                                       struct weir_error *err)
{
    struct column_view view;
    uint8_t end[2 * COLUMN_PADDING] = {0};
    enum weir_status status = storage_column_view(packed, count, &view, err);
    size_t last;

    if (status != WEIR_OK)
        return status;
    last = unpadded(&view, count);
    storage_column_range(&view, 0, count - last, values);
    memcpy(end, packed.at + packed.size - last * view.width, last * view.width);
    view.body = end;
    view.base += (count - last) * view.step;
    storage_column_range(&view, 0, last, values + (count - last));
    return WEIR_OK;
}
