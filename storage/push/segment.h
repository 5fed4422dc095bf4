/* A segment: a file of pushed samples that storage owns. It is made with its full size, so that appending
 * changes nothing that readers compare but its mtime, which they do not compare (mtime_ns 0 of
 * its stored_file). What lies after the bytes that the store knows of is nobody's: left by a death
 * between a write and its commit, and cut off when the segment is opened again. */
#ifndef WEIR_STORAGE_SEGMENT_H
#define WEIR_STORAGE_SEGMENT_H

#include "core/base/bytes.h"
#include "core/base/error.h"

#include <sys/stat.h>

struct segment {
    int fd;     /* -1: none */
    char *path; /* for messages; NULL: none */
    uint64_t size;
};

/* A new file at `path`, whose folder may be missing. EXISTS when there is one already; LIMIT when the disk is full. */
enum weir_status storage_segment_create(const char *path, uint64_t size,
                                        struct segment *ret_segment,
                                        struct weir_error *err) WEIR_MUST_USE;
/* The segment whose first `used` of `size` bytes are committed; what lies after them is cut off. CORRUPT
 * when there are fewer, NOT_FOUND when it is gone. */
enum weir_status storage_segment_open(const char *path, uint64_t size, uint64_t used,
                                      struct segment *ret_segment,
                                      struct weir_error *err) WEIR_MUST_USE;
void storage_segment_close(struct segment *segment);

/* Writes at byte `at`; on disk with the next sync. LIMIT when the disk is full. */
enum weir_status storage_segment_write(const struct segment *segment, uint64_t at,
                                       struct weir_bytes bytes,
                                       struct weir_error *err) WEIR_MUST_USE;
/* Reads exactly `size` bytes at byte `at`. */
enum weir_status storage_segment_read(const struct segment *segment, uint64_t at, void *bytes,
                                      size_t size, struct weir_error *err) WEIR_MUST_USE;
enum weir_status storage_segment_sync(const struct segment *segment,
                                      struct weir_error *err) WEIR_MUST_USE;
/* Fills the identity that readers compare. */
enum weir_status storage_segment_describe(const struct segment *segment, struct stat *ret_stat,
                                          struct weir_error *err) WEIR_MUST_USE;

#endif
