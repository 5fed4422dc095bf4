/* State shared by the figures of the storage benchmark: a platform, data sets, tables to compare with. */
#ifndef BENCHMARKS_STORAGE_BENCH_H
#define BENCHMARKS_STORAGE_BENCH_H

#include "benchmarks/harness.h"
#include "benchmarks/rig.h"
#include "benchmarks/storage/reads.h"
#include "benchmarks/storage/source.h"

enum {
    RECORDS = 10000000,
    ROWS = 1000000,
    PICTURES = 4000,
    COPIED_MAX = 1000000,
    READS = 100000,
    PICTURE_READS = 20000,
};

struct storage_bench {
    const char *directory;
    double scale;
    struct rig *rig;
    struct source records, rows, pictures;
    struct table *record_table, *subject_table, *row_table, *listed_table;
    char *subjects_name;     /* of the data set whose subjects are looked up */
    struct billion *billion; /* simulated runs, see figures_billion.c */
    struct picks record_picks, row_picks, picture_picks;
    uint64_t memory_peak, memory_half, memory_end; /* of storage, resident, see prepare_memory() */
    uint64_t datasets;                             /* registered so far */
    uint64_t listed;              /* the dataset that is listed; 0: not yet registered */
    struct table_columns columns; /* where it is listed to */
};

/* Makes the source unless it is there. */
enum weir_status need_records(struct storage_bench *bench, struct weir_error *err) WEIR_MUST_USE;
enum weir_status need_rows(struct storage_bench *bench, struct weir_error *err) WEIR_MUST_USE;
enum weir_status need_pictures(struct storage_bench *bench, struct weir_error *err) WEIR_MUST_USE;

/* A dataset to register under a new name: what stands below its name, with %s for the directory. */
struct registration {
    const struct source *source;
    const char *yaml;
    size_t samples; /* the expected number */
};
/* Asks storage to register it, and does not wait; *ret_name is the caller's to free. */
enum weir_status declare_dataset(struct storage_bench *bench, const struct registration *what,
                                 char **ret_name, struct weir_error *err) WEIR_MUST_USE;
/* Registers it; `ret_name` (caller's to free, may be NULL) and `ret_dataset` say as what. */
enum weir_status register_dataset(struct storage_bench *bench, const struct registration *what,
                                  char **ret_name, struct msg_dataset_is *ret_dataset,
                                  struct weir_error *err) WEIR_MUST_USE;

extern const char RECORDS_YAML[], SUBJECTS_YAML[], ROWS_YAML[], PICTURES_YAML[], MANY_YAML[];

/* figures_register.c, figures_read.c, figures_lookup.c, figures_billion.c,
 * figures_weight.c */
bench_side_fn register_records, register_subjects, register_rows, copy_records, copy_subjects,
    copy_rows, cat_records, list_columns, select_rows;
enum weir_status prepare_record_copy(void *state, struct weir_error *err);
enum weir_status prepare_subject_copy(void *state, struct weir_error *err);
enum weir_status prepare_row_copy(void *state, struct weir_error *err);
enum weir_status prepare_cat(void *state, struct weir_error *err);
enum weir_status prepare_listing(void *state, struct weir_error *err);

enum weir_status prepare_lookups(void *state, struct weir_error *err);
bench_side_fn look_up_subjects, five_milliseconds;
enum weir_status prepare_billion(void *state, struct weir_error *err);
void billion_free(struct billion *billion);
bench_side_fn look_up_in_a_billion, fifty_milliseconds;
bench_side_fn read_records, read_rows, read_pictures, pread_records, pread_rows, pread_pictures;
enum weir_status prepare_record_reads(void *state, struct weir_error *err);
enum weir_status prepare_row_reads(void *state, struct weir_error *err);
enum weir_status prepare_picture_reads(void *state, struct weir_error *err);

enum weir_status prepare_memory(void *state, struct weir_error *err);
bench_side_fn peak_memory, allowed_memory, memory_at_the_end, memory_half_way;
bench_side_fn weigh_records, weigh_rows, weigh_subjects, two_bytes, twelve_bytes;

#endif
