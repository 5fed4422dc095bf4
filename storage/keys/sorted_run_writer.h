/* Makes a sorted run from ascending entries: segments, their fences and the filter, in one pass and, when
 * segments are taken out on the way, in little memory. Pure. */
#ifndef WEIR_STORAGE_SORTED_RUN_WRITER_H
#define WEIR_STORAGE_SORTED_RUN_WRITER_H

#include "storage/keys/id_list.h"
#include "storage/keys/sorted_run_filter.h"
#include "storage/keys/sorted_run_segment.h"

struct sorted_run_writer {
    struct weir_buf bytes;  /* segments not yet taken out, end to end */
    struct id_list sizes;   /* of them */
    struct weir_buf fences; /* of all: u32 each, the upper half of the first hash */
    struct sorted_run_filter filter;
    struct sorted_run_entry pending[SORTED_RUN_SEGMENT_ENTRIES];
    size_t pending_count;
    uint64_t count;
    uint64_t taken; /* segments */
};

/* For at most `count` entries, with filters of `filter_bytes_max` at most: a larger one is left out. */
void storage_sorted_run_writer_init(struct sorted_run_writer *writer, uint64_t count,
                                    unsigned filter_bits, size_t filter_bytes_max);
void storage_sorted_run_writer_fini(struct sorted_run_writer *writer);
void storage_sorted_run_writer_add(struct sorted_run_writer *writer,
                                   const struct sorted_run_entry *entries, size_t count);
/* The last segment, which may be short. */
void storage_sorted_run_writer_end(struct sorted_run_writer *writer);
/* The segments in `bytes` are stored: room for the next. */
void storage_sorted_run_writer_take(struct sorted_run_writer *writer);

#endif
