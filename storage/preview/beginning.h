/* The beginning of a file, where a copy of it would be: of one that is in a bucket, or compressed. */
#ifndef WEIR_STORAGE_BEGINNING_H
#define WEIR_STORAGE_BEGINNING_H

#include "core/base/bytes.h"
#include "core/base/error.h"
#include "storage/formats/format.h"

enum { BEGINNING_BYTES = 1 << 20 };

/* Writes it, and the folders that it lies in. IO. */
enum weir_status storage_beginning_write(const char *path, struct weir_bytes bytes,
                                         struct weir_error *err) WEIR_MUST_USE;
/* Writes the beginning of the `size` bytes of zstd in `from`, of which the first are enough. *ret_size is what they
 * expand to; EXPAND_BYTES_MAX when that is more than was written. IO, or INVALID as storage_expansion_next() has it. */
enum weir_status storage_beginning_expand(int from, uint64_t size, const char *path,
                                          uint64_t *ret_size, struct weir_error *err) WEIR_MUST_USE;
/* The same of compressed bytes at hand. */
enum weir_status storage_beginning_expand_bytes(struct weir_bytes from, uint64_t size,
                                                const char *path, uint64_t *ret_size,
                                                struct weir_error *err) WEIR_MUST_USE;

#endif
