/* Checksums of records, as storage has read them: what a worker on another host reads from a shared file system is
 * compared with them, for such a file system may show old bytes under the name, size and time of new ones. They are of
 * records, not of blocks of files, so that a worker reads no more than the records that it needs; and storage computes
 * them when a worker asks, not for every sample when it comes, so that they cost nothing where every worker sees the
 * same files as storage. The bytes of a sample never change under its id, so a sum is asked for once; what is kept is
 * bounded, and dropped at every erasure. Owned by struct worker. */
#ifndef WEIR_PREPROCESS_WORKER_RECORD_SUMS_H
#define WEIR_PREPROCESS_WORKER_RECORD_SUMS_H

#include "core/base/bytes.h"
#include "core/base/index.h"
#include "preprocess/worker/files.h"

#include <stdbool.h>

enum { RECORD_SUMS_MAX = 1 << 21 /* 80 MB at most; all are dropped when there would be more */ };

struct record_sum {
    uint64_t id;
    uint32_t crc;
};

/* Zeroed is empty. */
struct record_sums {
    struct weir_index by_id;
    struct record_sum *at;
    size_t count, capacity;
};

void preprocess_record_sums_fini(struct record_sums *sums); /* zeroed is fine, and what it leaves */
void preprocess_record_sums_put(struct record_sums *sums, uint64_t id, uint32_t crc);
bool preprocess_record_sums_has(const struct record_sums *sums, uint64_t id);
/* True when the bytes are those of the sample; false also when no sum of it is known. */
bool preprocess_record_sums_agree(const struct record_sums *sums, uint64_t id,
                                  struct weir_bytes bytes);
/* Checks bytes that were read from a file to the end of `out`. Those of a file of this host need no sum. STALE, and
 * they are taken back, for others than the sample's: the file is believed no longer. */
enum weir_status preprocess_record_sums_check(const struct record_sums *sums, struct files *files,
                                              const struct file_range *range, uint64_t id,
                                              struct weir_buf *out,
                                              struct weir_error *err) WEIR_MUST_USE;

#endif
