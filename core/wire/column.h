/* A packed column of a chunk (C2): 64-bit values in as few bytes as their spread allows. Pure.
 *
 *     0  u8   width of a value: 0 all equal the base, 1 2 4 8 bytes, 255 equal steps from the base on,
 *             254 a frame
 *     1  u64  base (0 with width 8), little-endian
 *     9  values less the base, little-endian; with 255: u64 the step
 *
 * A frame (frame of reference, Goldstein, Ramakrishnan and Shaft 1998, along a line as in FastLanes and
 * LeCo) also divides by what all differences have in common, such as whole seconds, and takes out the
 * slope of what grows evenly, such as times and the offsets of lines:
 *
 *     9  u64  step: value = base + row * step + unit * packed
 *    17  u64  unit
 *    25  u8   bits of a packed value: 0 1 2 4 8 16 24 … 64; from the lowest bit of each byte up
 *    26  packed values
 *
 * The SQL function unpack() of storage/sql/012_frames.sql reads the same bytes. */
#ifndef WEIR_WIRE_COLUMN_H
#define WEIR_WIRE_COLUMN_H

#include "core/base/bytes.h"
#include "core/base/error.h"

#include <string.h>

enum {
    WEIR_COLUMN_HEADER_BYTES = 9,
    WEIR_COLUMN_FRAME_BYTES = 26,
    WEIR_COLUMN_STEPS = 255,
    WEIR_COLUMN_FRAME = 254,
    WEIR_COLUMN_PADDING = 8
};

void weir_column_pack(const int64_t *values, size_t count, struct weir_buf *out);
/* The column base, base + step, base + 2 * step … */
void weir_column_pack_steps(int64_t base, uint64_t step, struct weir_buf *out);
/* Fills `values` (count). CORRUPT when `packed` is not the column of `count` values. Needs no
 * padding. */
enum weir_status weir_column_unpack(struct weir_bytes packed, int64_t *values, size_t count,
                                    struct weir_error *err) WEIR_MUST_USE;

/* A column seen in place: value `row` is base + row * step + unit * the `bits` at its place. Every
 * encoding is such a sum, so that reading a value takes no branch. Borrows the packed bytes. */
struct weir_column_view {
    const uint8_t *body;
    size_t bits;   /* from one value to the next */
    uint64_t mask; /* of the bits that belong to a value */
    uint64_t base, step, unit;
    struct weir_bytes packed; /* the whole column */
};

/* Readable memory must go on for WEIR_COLUMN_PADDING bytes after `packed`. CORRUPT when it is not the
 * column of `count` values. */
enum weir_status weir_column_view(struct weir_bytes packed, size_t count,
                                  struct weir_column_view *ret_view,
                                  struct weir_error *err) WEIR_MUST_USE;

/* `row` below the `count` of the view; unchecked. */
static inline int64_t weir_column_at(const struct weir_column_view *view, size_t row)
{
    size_t bit = row * view->bits;
    uint64_t value;

    memcpy(&value, view->body + bit / 8, sizeof(value)); /* little-endian, as packed */
    value = value >> bit % 8 & view->mask;
    return (int64_t)(view->base + row * view->step + view->unit * value);
}

/* The values of `count` rows in any order. */
void weir_column_take(const struct weir_column_view *view, const uint32_t *rows, size_t count,
                      int64_t *values);
/* Rows from … from + count - 1 as an array. */
void weir_column_range(const struct weir_column_view *view, size_t from, size_t count,
                       int64_t *values);

#endif
