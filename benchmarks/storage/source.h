/* Data sets of the storage benchmark: made up, the same on any machine, in the page cache. Owned by the
 * benchmark; the files lie in its scratch directory. */
#ifndef BENCHMARKS_STORAGE_SOURCE_H
#define BENCHMARKS_STORAGE_SOURCE_H

#include "benchmarks/table.h"
#include "core/base/bytes.h"

enum {
    SOURCE_RECORD_BYTES = 160,
    SOURCE_RECORD_FILES = 8,
    SOURCE_PICTURE_BYTES = 100000,
};

/* Fills the row of sample `i` in Postgres; `owner` is the struct source. */
typedef void source_row_fn(const void *owner, size_t i, struct table_row *ret_row);

struct source {
    char *directory;
    size_t samples;
    uint64_t bytes; /* of all files */
    source_row_fn *row;
};

/* day_2026-01-01 … with records of a label i32, a subject u64 at 8, and noise. */
enum weir_status source_make_records(const char *directory, size_t samples,
                                     struct source *ret_source,
                                     struct weir_error *err) WEIR_MUST_USE;
/* rows.csv: time (seconds), label and three numbers a row, about 50 bytes. */
enum weir_status source_make_rows(const char *directory, size_t samples, struct source *ret_source,
                                  struct weir_error *err) WEIR_MUST_USE;
/* One file of 100 kB for each sample, 1000 to a folder: as large as a picture, and as hard to compress. */
enum weir_status source_make_pictures(const char *directory, size_t samples,
                                      struct source *ret_source,
                                      struct weir_error *err) WEIR_MUST_USE;
/* Returns the subject of record i. */
uint64_t source_subject(const struct source *source, size_t i);
void source_fini(struct source *source); /* zeroed is fine */

#endif
