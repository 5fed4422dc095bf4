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

enum { COLUMN_HEADER_BYTES = 9, COLUMN_STEPS = 255 };

void storage_column_pack(const int64_t *values, size_t count, struct weir_buf *out);
/* Fills `values` (count). CORRUPT when `packed` is not the column of `count` values. */
enum weir_status storage_column_unpack(struct weir_bytes packed, int64_t *values, size_t count,
                                       struct weir_error *err) WEIR_MUST_USE;

#endif
