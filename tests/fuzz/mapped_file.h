/* A file in memory for the targets that open files, and the checksums that a fuzzer would never
 * guess. */
#ifndef WEIR_TESTS_FUZZ_MAPPED_FILE_H
#define WEIR_TESTS_FUZZ_MAPPED_FILE_H

#include "core/base/error.h"
#include "core/base/file.h"
#include "core/base/hash.h"

#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

/* Both kinds of file have a header of 64 bytes: a digest at 24, a checksum of the 40 bytes before
 * at 40. */
enum { MAPPED_HEADER_BYTES = 64 };

struct mapped_file {
    char path[64];
    int fd;
};

static inline void mapped_file_make(struct mapped_file *file, struct weir_bytes bytes)
{
    file->fd = memfd_create("fuzz", MFD_CLOEXEC);
    weir_require(file->fd >= 0);
    weir_require(write(file->fd, bytes.at, bytes.size) == (ssize_t)bytes.size);
    snprintf(file->path, sizeof(file->path), "/proc/self/fd/%d", file->fd);
}

static inline void mapped_file_remove(const struct mapped_file *file)
{
    close(file->fd);
}

/* Makes the header's magic, digest and checksum right. */
static inline void mapped_file_repair(struct weir_buf *file, const char magic[8],
                                      struct weir_digest digest)
{
    memcpy(file->at, magic, 8);
    memcpy(file->at + 24, digest.bytes, sizeof(digest.bytes));
    weir_put_u64(file->at + 40, weir_hash64(weir_bytes(file->at, 40), 0));
}

#endif
