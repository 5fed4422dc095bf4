/* Segments of the cache of samples (C19): rows that operators have made of samples, by sample and by what
 * made them. A segment is written once, by rename; after that its rows are only ever overwritten, by erasures. What is
 * damaged in any way is made again from the record, so nothing here is synced but an erasure.
 *
 *     0   8 bytes "WEIRROW1"     8  u64 erasure epoch that its writer knew    16  u64 rows
 *    24   u64 bytes of the file
 *    32   XXH3-64 of the table   40  XXH3-64 of the 40 bytes before
 *    48   u64 ns that making its rows took: advice, in no checksum           56  zeros
 *    64   the table, 40 bytes a row:
 *             u64 sample id      u64 key: what made it                        u64 offset in the file
 *             u32 bytes in the file, u32 bytes expanded                       u64 XXH3-64 of the bytes in the file
 *         the rows, end to end: u8 1 + enum weir_compression, then the bytes
 *
 * A row that was overwritten is zeros, so that its first byte says so. Pure but for files. */
#ifndef WEIR_WIRE_CACHE_SEGMENT_H
#define WEIR_WIRE_CACHE_SEGMENT_H

#include "core/base/bytes.h"
#include "core/base/error.h"
#include "core/wire/compression.h"

#define WEIR_CACHE_FOLDER "cache" /* below the data directory */
#define WEIR_CACHE_SUFFIX ".rows" /* of a segment */
#define WEIR_CACHE_DRAFT  ".tmp"  /* of one that is being written */

enum {
    WEIR_CACHE_ROWS_MAX = 1 << 20,      /* of a segment */
    WEIR_CACHE_ROW_BYTES_MAX = 1 << 30, /* expanded */
    WEIR_CACHE_ENTRY_BYTES = 40,
    WEIR_CACHE_TABLE_AT = 64,
};

/* An entry of the table. */
struct weir_cache_segment_entry {
    uint64_t id, key, offset;
    uint32_t stored, size;
    uint64_t sum;
};

/* Key of rows that are records of samples, as they were read. They hold words, so they are never compressed: a search
 * for words reads them, and knows by the table whose they are. */
#define WEIR_CACHE_RECORDS 1

/* A row that is to be written. Its first byte is WEIR_CACHE_PLAIN. */
struct weir_cache_row {
    uint64_t id, key;
    struct weir_bytes bytes;
    uint64_t made_ns; /* it was made in so long; 0: not known */
};
enum { WEIR_CACHE_PLAIN = 1 + WEIR_COMPRESSION_NONE };

/* Writes PATH.tmp and renames it to `path`. Rows that `how` makes smaller are compressed, each by itself. LIMIT: the
 * disk is full; IO, NOT_FOUND: the file was removed meanwhile. Nothing is left of it then. */
enum weir_status weir_cache_segment_write(const char *path, uint64_t epoch,
                                          const struct weir_cache_row *rows, size_t count,
                                          enum weir_compression how,
                                          struct weir_error *err) WEIR_MUST_USE;

/* An open segment, and its table as it lies in the file. */
struct weir_cache_segment {
    int fd;
    uint64_t epoch;
    uint64_t bytes; /* of the file */
    size_t count;
    uint8_t *table; /* of `count` entries; owned */
};

/* CORRUPT when header or table is damaged, or the file is shorter than it says; NOT_FOUND, IO. */
enum weir_status weir_cache_segment_open(const char *path, bool is_writable,
                                         struct weir_cache_segment *ret_segment,
                                         struct weir_error *err) WEIR_MUST_USE;
void weir_cache_segment_close(struct weir_cache_segment *segment);

/* Returns how long its rows were made, by what its header says; 0: not known, or there is no such file. */
uint64_t weir_cache_segment_made_ns(int folder, const char *name);

/* The entry of a row in a table. */
struct weir_cache_segment_entry weir_cache_entry_at(const uint8_t *table, size_t row);

/* The row in `stored`, as it lies in the file: itself where it is plain, else expanded into `room`. False when it is
 * damaged, or overwritten. */
bool weir_cache_row_read(const struct weir_cache_segment_entry *entry, struct weir_bytes stored,
                         struct weir_buf *room, struct weir_bytes *ret_row);

/* True for a sample that is erased. */
typedef bool weir_cache_is_erased_fn(const void *owner, uint64_t id);

struct weir_cache_erased {
    uint64_t rows;  /* overwritten now */
    uint64_t files; /* … in so many segments */
    /* rows of erased samples that hold anything, where nothing is to be overwritten */
    uint64_t left;
};
/* Overwrites the rows of erased samples in a segment, and syncs it if there were any. One that is damaged so that its
 * rows cannot be told apart is removed. IO. */
enum weir_status weir_cache_segment_erase(const char *path, weir_cache_is_erased_fn *is_erased,
                                          const void *owner, struct weir_cache_erased *sum,
                                          struct weir_error *err) WEIR_MUST_USE;
/* The same of every segment in DATA_DIR/cache; segments that are being written are removed, which fails their writers.
 * May be repeated. `is_dry`: counts what it would overwrite. */
enum weir_status weir_cache_erase(const char *data_dir, bool is_dry,
                                  weir_cache_is_erased_fn *is_erased, const void *owner,
                                  struct weir_cache_erased *sum,
                                  struct weir_error *err) WEIR_MUST_USE;

/* Segments that were examined. */
struct weir_cache_checked {
    uint64_t segments, rows, bytes;
    uint64_t erased; /* rows of erased samples that hold anything */
};
/* Derives again what a segment says of itself: rows end to end, their number, the size of the file; checksums of the
 * rows of erased samples, or when `is_deep` of all. CORRUPT, with the path and what is wrong; one that was evicted is
 * fine. */
enum weir_status weir_cache_segment_check(const char *path, bool is_deep,
                                          weir_cache_is_erased_fn *is_erased, const void *owner,
                                          struct weir_cache_checked *sum,
                                          struct weir_error *err) WEIR_MUST_USE;

/* Rows of one key. */
struct weir_cache_kind {
    uint64_t key, rows;
    uint64_t bytes;        /* of the rows, without tables and headers */
    int64_t newest_use_us; /* of a segment that has any, since 1970 */
};

/* Everything in DATA_DIR/cache. */
struct weir_cache_survey {
    uint64_t segments, rows, bytes;
    uint64_t drafts, damaged;             /* files */
    int64_t oldest_use_us, newest_use_us; /* of segments, since 1970; 0: there is none */
    struct weir_cache_kind *kinds;        /* owned */
    size_t kind_count, kind_capacity;
};
enum weir_status weir_cache_survey(const char *data_dir, struct weir_cache_survey *ret_survey,
                                   struct weir_error *err) WEIR_MUST_USE;
void weir_cache_survey_fini(struct weir_cache_survey *survey);
/* Removes all of it; *ret_files: that there were. Its writers fail, and workers miss their rows. IO. */
enum weir_status weir_cache_drop(const char *data_dir, uint64_t *ret_files,
                                 struct weir_error *err) WEIR_MUST_USE;

typedef enum weir_status weir_cache_visit_fn(void *owner, const char *path, bool is_segment,
                                             struct weir_error *err);
/* Visits every file in DATA_DIR/cache, which need not be there, until one fails. Files may be removed meanwhile. */
enum weir_status weir_cache_walk(const char *data_dir, weir_cache_visit_fn *visit, void *owner,
                                 struct weir_error *err) WEIR_MUST_USE;
/* fsyncs the folder, so that a power cut brings back nothing that was removed; absent is fine. */
enum weir_status weir_cache_sync(const char *data_dir, struct weir_error *err) WEIR_MUST_USE;

/* True for the name of a segment. */
bool weir_cache_is_segment(const char *name);

#endif
