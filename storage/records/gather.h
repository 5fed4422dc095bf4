/* Reads many ranges of many files into one place: each file once, its ranges in their order on disk,
 * near ones in one call. What is in the page cache is read first; the rest is announced to the kernel
 * as a whole before anything waits for it, so that a disk sees all of a request at once. */
#ifndef WEIR_STORAGE_GATHER_H
#define WEIR_STORAGE_GATHER_H

#include "core/base/memory.h"
#include "storage/records/open_files.h"

struct gather_range {
    const struct dataset *dataset;
    const struct stored_file *file;
    uint64_t offset, length;
    const char *path; /* of the file, for storage_gather_apart() */
    uint8_t *to;
    uint32_t number; /* the caller's */
    bool is_read;    /* set: `to` holds the bytes that were indexed */
};

struct s3_ranges;

/* Sources of the bytes; borrowed. */
struct gather_from {
    struct open_files *files;
    const struct storage_secret *secret;
    struct s3_ranges *objects; /* of datasets whose bytes are in a bucket: what has been fetched */
};
/* Best in the order of files, and of offsets in each; any order is read. */
void storage_gather(const struct gather_from *from, struct gather_range *ranges, size_t count);
/* The same in two steps. On the loop's thread: reads what is of objects, and names the files of the rest, in `arena`,
 * which has to outlive the ranges. */
void storage_gather_prepare(const struct gather_from *from, struct gather_range *ranges,
                            size_t count, struct weir_arena *arena);
/* On any thread, of ranges that nobody else has, and whose files are copies: reads that rest. */
void storage_gather_apart(const struct storage_secret *secret, struct gather_range *ranges,
                          size_t count);

#endif
