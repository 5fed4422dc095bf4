/* Packed columns: see column.h. */
#include "storage/column.h"

#include <string.h>

/* Differences are taken as unsigned, so that no spread overflows. */
struct spread {
    int64_t min;
    uint64_t range;
    bool counts;
};

static struct spread measure(const int64_t *values, size_t count)
{
    struct spread spread = {.counts = true};
    int64_t max = count > 0 ? values[0] : 0;

    spread.min = max;
    for (size_t i = 0; i < count; i++) {
        if (values[i] < spread.min)
            spread.min = values[i];
        if (values[i] > max)
            max = values[i];
        if ((uint64_t)values[i] != (uint64_t)values[0] + i)
            spread.counts = false;
    }
    spread.range = (uint64_t)max - (uint64_t)spread.min;
    return spread;
}

static uint8_t width_of(const struct spread *spread)
{
    if (spread->range == 0)
        return 0;
    if (spread->counts)
        return COLUMN_COUNTS;
    if (spread->range <= UINT8_MAX)
        return 1;
    if (spread->range <= UINT16_MAX)
        return 2;
    return spread->range <= UINT32_MAX ? 4 : 8;
}

static size_t value_bytes(uint8_t width)
{
    return width == COLUMN_COUNTS ? 0 : width;
}

void storage_column_pack(const int64_t *values, size_t count, struct weir_buf *out)
{
    struct spread spread = measure(values, count);
    uint8_t width = width_of(&spread);
    uint64_t base = width == 8 ? 0 : (uint64_t)spread.min;
    size_t size = value_bytes(width);
    uint8_t *at;

    weir_buf_reserve(out, COLUMN_HEADER_BYTES + count * size + sizeof(uint64_t));
    at = out->at + out->size;
    at[0] = width;
    weir_put_u64(at + 1, base);
    at += COLUMN_HEADER_BYTES;
    for (size_t i = 0; size > 0 && i < count; i++) {
        uint8_t value[8];

        weir_put_u64(value, (uint64_t)values[i] - base);
        memcpy(at, value, size);
        at += size;
    }
    out->size += COLUMN_HEADER_BYTES + count * size;
}

static void load(const uint8_t *at, size_t size, uint64_t base, int64_t *values, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        uint8_t value[8] = {0};

        memcpy(value, at + i * size, size);
        values[i] = (int64_t)(base + weir_get_u64(value));
    }
}

enum weir_status storage_column_unpack(struct weir_bytes packed, int64_t *values, size_t count,
                                       struct weir_error *err)
{
    uint8_t width = packed.size >= COLUMN_HEADER_BYTES ? packed.at[0] : 3;
    size_t size = value_bytes(width);
    uint64_t base;

    if ((size != 0 && size != 1 && size != 2 && size != 4 && size != 8) ||
        packed.size != COLUMN_HEADER_BYTES + count * size)
        return weir_fail(err, WEIR_CORRUPT, "column of %zu bytes is not one of %zu values",
                         packed.size, count);
    base = weir_get_u64(packed.at + 1);
    if (size > 0) {
        load(packed.at + COLUMN_HEADER_BYTES, size, base, values, count);
        return WEIR_OK;
    }
    for (size_t i = 0; i < count; i++)
        values[i] = (int64_t)(base + (width == COLUMN_COUNTS ? i : 0));
    return WEIR_OK;
}
