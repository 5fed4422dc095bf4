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
#ifndef WEIR_STORAGE_SORTED_RUN_SEGMENT_H
#define WEIR_STORAGE_SORTED_RUN_SEGMENT_H

#include "core/base/bytes.h"
#include "core/base/error.h"

enum { SORTED_RUN_SEGMENT_ENTRIES = 1024, SORTED_RUN_ID_BITS = 44 };

/* `id` is block << 16 | row: the dataset is the run's. */
struct sorted_run_entry {
    uint64_t hash;
    uint64_t id;
};

/* Order by hash, then by id; no two entries are alike. */
static inline bool sorted_run_entry_before(const struct sorted_run_entry *a,
                                           const struct sorted_run_entry *b)
{
    return a->hash != b->hash ? a->hash < b->hash : a->id < b->id;
}

/* Appends the segment of 1 … SORTED_RUN_SEGMENT_ENTRIES ascending entries; returns its size. */
size_t storage_sorted_run_segment_pack(const struct sorted_run_entry *entries, size_t count,
                                       struct weir_buf *out);
/* Fills `entries`, which has room for SORTED_RUN_SEGMENT_ENTRIES. CORRUPT when `packed` is no segment. */
enum weir_status storage_sorted_run_segment_unpack(struct weir_bytes packed,
                                                   struct sorted_run_entry *entries,
                                                   size_t *ret_count,
                                                   struct weir_error *err) WEIR_MUST_USE;

#endif
