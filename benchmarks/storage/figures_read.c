/* Figures about random reads. */
#include "benchmarks/storage/bench.h"

#include <stdlib.h>

/* Registers the source, and picks samples of it. */
static enum weir_status prepare(struct storage_bench *bench, const struct registration *what,
                                size_t count, bool keeps_open, struct picks *ret_picks,
                                struct weir_error *err)
{
    WEIR_AUTO_FREE char *name = NULL;
    struct msg_dataset_is dataset;
    size_t scaled = (size_t)((double)count * bench->scale) + 1;
    enum weir_status status = register_dataset(bench, what, &name, &dataset, err);
    return status == WEIR_OK ? picks_make(bench->rig, name, scaled, keeps_open, ret_picks, err)
                             : status;
}

enum weir_status prepare_record_reads(void *state, struct weir_error *err)
{
    struct storage_bench *bench = state;
    enum weir_status status = need_records(bench, err);
    const struct registration what = {&bench->records, RECORDS_YAML, bench->records.samples};
    return status == WEIR_OK ? prepare(bench, &what, READS, true, &bench->record_picks, err)
                             : status;
}

enum weir_status prepare_row_reads(void *state, struct weir_error *err)
{
    struct storage_bench *bench = state;
    enum weir_status status = need_rows(bench, err);
    const struct registration what = {&bench->rows, ROWS_YAML, bench->rows.samples};
    return status == WEIR_OK ? prepare(bench, &what, READS, true, &bench->row_picks, err) : status;
}

enum weir_status prepare_picture_reads(void *state, struct weir_error *err)
{
    struct storage_bench *bench = state;
    enum weir_status status = need_pictures(bench, err);
    const struct registration what = {&bench->pictures, PICTURES_YAML, bench->pictures.samples};
    return status == WEIR_OK
               ? prepare(bench, &what, PICTURE_READS, false, &bench->picture_picks, err)
               : status;
}

enum weir_status read_records(void *state, double *ret_rate, struct weir_error *err)
{
    struct storage_bench *bench = state;
    return picks_read_there(&bench->record_picks, bench->rig, ret_rate, err);
}

enum weir_status pread_records(void *state, double *ret_rate, struct weir_error *err)
{
    return picks_read_here(&((struct storage_bench *)state)->record_picks, ret_rate, err);
}

enum weir_status read_rows(void *state, double *ret_rate, struct weir_error *err)
{
    struct storage_bench *bench = state;
    return picks_read_there(&bench->row_picks, bench->rig, ret_rate, err);
}

enum weir_status pread_rows(void *state, double *ret_rate, struct weir_error *err)
{
    return picks_read_here(&((struct storage_bench *)state)->row_picks, ret_rate, err);
}

enum weir_status read_pictures(void *state, double *ret_rate, struct weir_error *err)
{
    struct storage_bench *bench = state;
    return picks_read_there(&bench->picture_picks, bench->rig, ret_rate, err);
}

enum weir_status pread_pictures(void *state, double *ret_rate, struct weir_error *err)
{
    return picks_read_here(&((struct storage_bench *)state)->picture_picks, ret_rate, err);
}
