/* A packed column of a chunk (C2): 64-bit values in as few bytes as their spread allows. Pure.
 *
 *     0  u8   width of a value: 0 all equal the base, 1 2 4 8 bytes, 255 equal steps from the base on
 *     1  u64  base (0 with width 8), little-endian
 *     9  values less the base, little-endian; with 255: u64 the step
 *
 * The SQL function unpack() of sql/001_storage.sql reads the same bytes. */
#ifndef WEIR_STORAGE_COLUMN_H
#define WEIR_STORAGE_COLUMN_H

#include "core/base/bytes.h"
#include "core/base/error.h"

#include <string.h>

enum { COLUMN_HEADER_BYTES = 9, COLUMN_STEPS = 255, COLUMN_PADDING = 8 };

void storage_column_pack(const int64_t *values, size_t count, struct weir_buf *out);
/* Fills `values` (count). CORRUPT when `packed` is not the column of `count` values. Needs no
 * padding. */
enum weir_status storage_column_unpack(struct weir_bytes packed, int64_t *values, size_t count,
                                       struct weir_error *err) WEIR_MUST_USE;

/* A column seen in place: value `row` is base + row * step + the `width` bytes at its place. Every
 * encoding is such a sum, so that reading a value takes no branch. Borrows the packed bytes. */
struct column_view {
    const uint8_t *body;
    size_t width;  /* bytes from one value to the next */
    uint64_t mask; /* of the bytes that belong to a value */
    uint64_t base, step;
};

/* Readable memory must go on for COLUMN_PADDING bytes behind `packed`. CORRUPT when it is not the
 * column of `count` values. */
enum weir_status storage_column_view(struct weir_bytes packed, size_t count,
                                     struct column_view *ret_view,
                                     struct weir_error *err) WEIR_MUST_USE;

/* `row` below the `count` of the view; unchecked. */
static inline int64_t storage_column_at(const struct column_view *view, size_t row)
{
    uint64_t value;

    memcpy(&value, view->body + row * view->width, sizeof value); /* little-endian, as packed */
    return (int64_t)(view->base + row * view->step + (value & view->mask));
}

/* Rows from … from + count - 1 as an array. */
void storage_column_range(const struct column_view *view, size_t from, size_t count,
                          int64_t *values);

#endif
