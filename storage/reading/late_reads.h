/* Reads that wait for bytes of objects (s3_ranges.h): each is answered when they have come, others
 * meanwhile. Bounded: one key leaves as many to others as it has, and what is too much is refused with UNAVAILABLE, and
 * asked again. Owned by struct storage. */
#ifndef WEIR_STORAGE_LATE_READS_H
#define WEIR_STORAGE_LATE_READS_H

#include "storage/reading/serve.h"

enum {
    LATE_READS_MAX = 256,
    LATE_BLOCKS_MAX = 1024, /* waited for by one answer, which ends before it would need more */
};

struct late_reads;

struct late_reads *storage_late_reads_new(const struct serving *serving);
/* Frees the reads; requests that wait are not answered. */
void storage_late_reads_free(struct late_reads *reads);
/* True when some of the samples are in a bucket. */
bool storage_reads_objects(const struct store *store, const struct weir_u64s *ids);
/* False when everything that is asked for can be read now; else answers the request later. */
bool storage_read_later(struct late_reads *reads, struct weir_request *request);

#endif
