/* A segment of a sorted run: up to 1024 entries (keyed hash, id), ascending, in about 9 bytes each. A
 * look-up reads one segment of a run, never the run. Pure.
 *
 *     0  u16  entries, 1 … 1024
 *     2  u8   bits of a difference between neighbouring hashes, 0 … 64
 *     3  u8   bits of an id less the least one, 0 … 44
 *     4  u64  first hash, little-endian like all
 *    12  u64  least id, without its dataset
 *    20  differences, then ids, end to end as bits, the lowest first; padded to a byte
 *        8 zero bytes, so that a reader may load whole words */
#ifndef WEIR_STORAGE_RUN_SEGMENT_H
#define WEIR_STORAGE_RUN_SEGMENT_H

#include "core/base/bytes.h"
#include "core/base/error.h"

enum { RUN_SEGMENT_ENTRIES = 1024, RUN_ID_BITS = 44 };

/* `id` is block << 16 | row: the dataset is the run's. */
struct run_entry {
    uint64_t hash;
    uint64_t id;
};

/* By hash, then by id; no two alike. */
static inline bool run_entry_before(const struct run_entry *a, const struct run_entry *b)
{
    return a->hash != b->hash ? a->hash < b->hash : a->id < b->id;
}

/* Appends the segment of 1 … RUN_SEGMENT_ENTRIES ascending entries; returns its size. */
size_t storage_run_segment_pack(const struct run_entry *entries, size_t count,
                                struct weir_buf *out);
/* Fills `entries`, which has room for RUN_SEGMENT_ENTRIES. CORRUPT when `packed` is no segment. */
enum weir_status storage_run_segment_unpack(struct weir_bytes packed, struct run_entry *entries,
                                            size_t *ret_count,
                                            struct weir_error *err) WEIR_MUST_USE;

#endif
