/* Open files of a worker: a bounded cache of descriptors and mappings, each checked against storage's
 * description of the file, so that only bytes that were located are read. A file that storage described on another host
 * is known by its path, size and time alone, which a network file system may show for old bytes: who reads it compares
 * each record with its sum (record_sums.h). It is never mapped: nobody would notice that its pages are exchanged. */
#ifndef WEIR_PREPROCESS_WORKER_FILES_H
#define WEIR_PREPROCESS_WORKER_FILES_H

#include "core/base/bytes.h"
#include "core/base/error.h"
#include "preprocess/worker/mapping.h"

enum {
    FILES_OPEN_MAX = 128,
    /* samples up to this size are read from a mapping, */
    FILES_SMALL_BYTES_MAX = 4096,
    FILES_MAP_BYTES_A_READ = 16384, /* once one was read per this many bytes of the file, */
    FILES_MAP_READS_MIN = 64,       /* and this many in all */
};
/* Address space for mappings; a file larger than the rest of it is not mapped: page tables take 1/512 of it. */
#define FILES_MAPPED_BYTES_MAX ((uint64_t)64 << 30)

/* A file as `located` describes it. */
struct file_about {
    const char *path;
    uint64_t device;
    uint64_t inode;
    uint64_t size;
    int64_t mtime_ns;
    uint64_t host; /* host of device and inode (core/base/host.h); 0: this one */
};

struct files;

/* Files are checked when they are opened, and once more after each preprocess_files_begin(). */
struct files *preprocess_files_new(void);
void preprocess_files_free(struct files *files);
struct file_range {
    const struct file_about *file;
    uint64_t offset;
    uint64_t length;
};

/* Appends the bytes of the range. STALE when the file is not, or no longer, the one described, or
 * ends too early; IO when it cannot be read. Nothing is appended then. */
enum weir_status preprocess_files_read(struct files *files, const struct file_range *range,
                                       struct weir_buf *out, struct weir_error *err) WEIR_MUST_USE;
/* True when the file was described on another host. */
bool preprocess_files_is_elsewhere(const struct files *files, const struct file_about *about);
/* A file of another host has shown other bytes than storage has there: it would do so again, until it changes. */
void preprocess_files_distrust(struct files *files, const struct file_about *about);
/* False for such a file; of many, for those noted last. */
bool preprocess_files_trusts(const struct files *files, const struct file_about *about);
/* Returns how often preprocess_files_distrust() was called. */
uint64_t preprocess_files_mismatches(const struct files *files);
/* The mapping of the file; NULL unless it has one, and was read from since preprocess_files_begin(). It stays until
 * then while no more than FILES_OPEN_MAX files are read. */
const struct mapping *preprocess_files_mapping(struct files *files, const struct file_about *about);
/* Another batch begins. */
void preprocess_files_begin(struct files *files);
/* True when the file is still the one described: called after reading, so that no bytes written
 * meanwhile pass for those located. */
bool preprocess_files_check(struct files *files, const struct file_about *about);
/* Closes everything: what is read next is opened and checked again. */
void preprocess_files_forget(struct files *files);

#endif
