/* Packed columns: the count of values (2 bytes), then the column. Whatever way it is read, the values are the same, and
 * can be packed again. */
#include "core/base/memory.h"
#include "core/wire/column.h"

#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum { HEAD = 2, ROWS_MAX = 5000 };

/* In place, one by one, in a range and taken by row. */
static void check_view(struct weir_bytes packed, const int64_t *values, size_t count)
{
    struct weir_column_view view;
    struct weir_error err;
    WEIR_AUTO_FREE uint8_t *padded = weir_calloc(packed.size + WEIR_COLUMN_PADDING, 1);
    WEIR_AUTO_FREE int64_t *range = weir_calloc(count, sizeof(*range));
    WEIR_AUTO_FREE uint32_t *rows = weir_calloc(count, sizeof(*rows));
    memcpy(padded, packed.at, packed.size);
    weir_require(weir_column_view(weir_bytes(padded, packed.size), count, &view, &err) == WEIR_OK);
    weir_column_range(&view, 0, count, range);
    weir_require(memcmp(range, values, count * sizeof(*values)) == 0);
    for (size_t i = 0; i < count; i++) {
        weir_require(weir_column_at(&view, i) == values[i]);
        rows[i] = (uint32_t)(count - 1 - i);
    }
    weir_column_take(&view, rows, count, range);
    for (size_t i = 0; i < count; i++)
        weir_require(range[i] == values[count - 1 - i]);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct weir_error err;
    WEIR_AUTO_BUF again = {0};
    size_t count = size < HEAD ? 0 : (data[0] | (size_t)data[1] << 8) % ROWS_MAX;
    if (count == 0)
        return 0;
    struct weir_bytes packed = weir_bytes(data + HEAD, size - HEAD);
    WEIR_AUTO_FREE int64_t *values = weir_calloc(count, sizeof(*values));
    WEIR_AUTO_FREE int64_t *other = weir_calloc(count, sizeof(*other));
    if (weir_column_unpack(packed, values, count, &err) != WEIR_OK)
        return 0;
    check_view(packed, values, count);
    weir_column_pack(values, count, &again);
    weir_require(weir_column_unpack(weir_buf_view(&again), other, count, &err) == WEIR_OK);
    weir_require(memcmp(values, other, count * sizeof(*values)) == 0);
    return 0;
}
