/* The sealed sample set (C5) as a file: what the selector writes once, and dispatcher, workers and
 * orchestrator map read-only. Ids ascend strictly; weights are absent when all are 1. The digest
 * covers count, ids and weights alone, so the same selection has the same digest on any machine.
 *
 *     offset 0   8 bytes  "WEIRSET1"
 *            8   u64      count
 *           16   u32      flags: 1 = weights present
 *           20   u32      reserved, 0
 *           24   16 bytes digest (XXH3-128 of count, flags, ids, weights)
 *           40   u64      XXH3-64 of the 40 bytes before
 *           48   zeros
 *           64   u64[count] ids, then f32[count] weights if present
 */
#ifndef WEIR_WIRE_SAMPLE_SET_H
#define WEIR_WIRE_SAMPLE_SET_H

#include "core/base/bytes.h"
#include "core/base/error.h"
#include "core/base/hash.h"

enum { WEIR_SET_HEADER_BYTES = 64 };

struct weir_sample_set {
    const uint64_t *ids;
    const float *weights; /* NULL: all 1 */
    size_t count;
    struct weir_digest digest;
    void *map; /* private */
    size_t map_bytes;
};

/* Writes by temporary file, fsync and rename. `ids` ascending and distinct (required). */
enum weir_status weir_sample_set_write(const char *path, const uint64_t *ids, const float *weights,
                                       size_t count, struct weir_digest *ret_digest,
                                       struct weir_error *err) WEIR_MUST_USE;
/* Maps and checks the file: CORRUPT when truncated or its digest differs. Close with
 * weir_sample_set_close(). */
enum weir_status weir_sample_set_open(const char *path, struct weir_sample_set *ret_set,
                                      struct weir_error *err) WEIR_MUST_USE;
void weir_sample_set_close(struct weir_sample_set *set); /* zeroed is fine */
/* Index of `id`, or -1. */
int64_t weir_sample_set_find(const struct weir_sample_set *set, uint64_t id);

#endif
