/* Figures about registering samples, and about listing them. */
#include "benchmarks/storage/bench.h"
#include "benchmarks/storage/listing.h"
#include "core/base/clock.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { CAT_BYTES = 128 << 10 }; /* of one read, as cat(1) does */

/* ---- ours ---- */

static enum weir_status timed_register(struct storage_bench *bench, struct table *table,
                                       const struct registration *what, double *ret_rate,
                                       struct weir_error *err)
{
    struct msg_dataset_is dataset;
    enum weir_status status = table != NULL ? table_settle(table, err) : WEIR_OK;
    if (status != WEIR_OK)
        return status;
    int64_t started = weir_now_ns();
    status = register_dataset(bench, what, NULL, &dataset, err);
    *ret_rate = (double)what->samples * 1e9 / (double)(weir_now_ns() - started);
    return status;
}

enum weir_status register_records(void *state, double *ret_rate, struct weir_error *err)
{
    struct storage_bench *bench = state;
    const struct registration what = {&bench->records, RECORDS_YAML, bench->records.samples};
    return timed_register(bench, bench->record_table, &what, ret_rate, err);
}

enum weir_status register_subjects(void *state, double *ret_rate, struct weir_error *err)
{
    struct storage_bench *bench = state;
    const struct registration what = {&bench->records, SUBJECTS_YAML, bench->records.samples};
    return timed_register(bench, bench->subject_table, &what, ret_rate, err);
}

enum weir_status register_rows(void *state, double *ret_rate, struct weir_error *err)
{
    struct storage_bench *bench = state;
    const struct registration what = {&bench->rows, ROWS_YAML, bench->rows.samples};
    return timed_register(bench, bench->row_table, &what, ret_rate, err);
}

/* ---- COPY ---- */

static enum weir_status open_table(struct storage_bench *bench, const char *name,
                                   const struct source *source, bool has_subject,
                                   struct table **ret_table, struct weir_error *err)
{
    const struct table_plan plan = {
        .name = name,
        .count = source->samples < COPIED_MAX ? source->samples : COPIED_MAX,
        .has_subject = has_subject,
        .row = source->row,
        .owner = source,
    };
    return table_open(rig_postgres(bench->rig), &plan, ret_table, err);
}

enum weir_status prepare_record_copy(void *state, struct weir_error *err)
{
    struct storage_bench *bench = state;
    enum weir_status status = need_records(bench, err);
    return status == WEIR_OK
               ? open_table(bench, "record", &bench->records, false, &bench->record_table, err)
               : status;
}

enum weir_status prepare_subject_copy(void *state, struct weir_error *err)
{
    struct storage_bench *bench = state;
    enum weir_status status = need_records(bench, err);
    return status == WEIR_OK
               ? open_table(bench, "subject", &bench->records, true, &bench->subject_table, err)
               : status;
}

enum weir_status prepare_row_copy(void *state, struct weir_error *err)
{
    struct storage_bench *bench = state;
    enum weir_status status = need_rows(bench, err);
    return status == WEIR_OK ? open_table(bench, "csv", &bench->rows, false, &bench->row_table, err)
                             : status;
}

static enum weir_status timed_copy(struct table *table, size_t samples, double *ret_rate,
                                   struct weir_error *err)
{
    enum weir_status status = table_clear(table, err);
    if (status == WEIR_OK)
        status = table_settle(table, err);
    int64_t started = weir_now_ns();
    if (status == WEIR_OK)
        status = table_copy(table, err);
    *ret_rate = (double)(samples < COPIED_MAX ? samples : COPIED_MAX) * 1e9 /
                (double)(weir_now_ns() - started);
    return status;
}

enum weir_status copy_records(void *state, double *ret_rate, struct weir_error *err)
{
    struct storage_bench *bench = state;
    return timed_copy(bench->record_table, bench->records.samples, ret_rate, err);
}

enum weir_status copy_subjects(void *state, double *ret_rate, struct weir_error *err)
{
    struct storage_bench *bench = state;
    return timed_copy(bench->subject_table, bench->records.samples, ret_rate, err);
}

enum weir_status copy_rows(void *state, double *ret_rate, struct weir_error *err)
{
    struct storage_bench *bench = state;
    return timed_copy(bench->row_table, bench->rows.samples, ret_rate, err);
}

/* ---- cat ---- */

enum weir_status prepare_cat(void *state, struct weir_error *err)
{
    return need_records(state, err);
}

/* Into a pipe's worth of memory: what `cat FILES >/dev/null` does. */
static enum weir_status cat(const char *path, uint8_t *buffer, struct weir_error *err)
{
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    ssize_t got = fd < 0 ? -1 : 1;
    while (got > 0)
        got = read(fd, buffer, CAT_BYTES);
    if (fd >= 0)
        close(fd);
    return got < 0 ? weir_fail(err, WEIR_IO, "%s: %s", path, strerror(errno)) : WEIR_OK;
}

enum weir_status cat_records(void *state, double *ret_rate, struct weir_error *err)
{
    struct storage_bench *bench = state;
    WEIR_AUTO_FREE uint8_t *buffer = weir_calloc(CAT_BYTES, 1);
    enum weir_status status = WEIR_OK;
    int64_t started = weir_now_ns();
    for (int file = 0; status == WEIR_OK && file < SOURCE_RECORD_FILES; file++) {
        WEIR_AUTO_FREE char *path =
            weir_format("%s/day_2026-01-%02d", bench->records.directory, file + 1);
        status = cat(path, buffer, err);
    }
    *ret_rate = (double)bench->records.samples * 1e9 / (double)(weir_now_ns() - started);
    return status;
}

/* ---- listing ---- */

static enum weir_status fill_listed_table(struct storage_bench *bench, struct weir_error *err)
{
    const struct table_plan plan = {.name = "listed",
                                    .count = bench->records.samples,
                                    .row = bench->records.row,
                                    .owner = &bench->records};
    enum weir_status status =
        table_open(rig_postgres(bench->rig), &plan, &bench->listed_table, err);
    if (status == WEIR_OK)
        status = table_copy(bench->listed_table, err);
    if (status == WEIR_OK)
        table_forget_rows(bench->listed_table);
    return status == WEIR_OK ? table_settle(bench->listed_table, err) : status;
}

enum weir_status prepare_listing(void *state, struct weir_error *err)
{
    struct storage_bench *bench = state;
    struct msg_dataset_is dataset;
    enum weir_status status = need_records(bench, err);
    const struct registration what = {&bench->records, RECORDS_YAML, bench->records.samples};
    size_t count = bench->records.samples;
    if (status == WEIR_OK)
        status = fill_listed_table(bench, err);
    if (status == WEIR_OK)
        status = register_dataset(bench, &what, NULL, &dataset, err);
    if (status != WEIR_OK)
        return status;
    bench->listed = dataset.dataset;
    bench->columns = (struct table_columns){.ids = weir_calloc(count, sizeof(uint64_t)),
                                            .times_us = weir_calloc(count, sizeof(int64_t)),
                                            .labels = weir_calloc(count, sizeof(int64_t)),
                                            .count = count};
    return WEIR_OK;
}

enum weir_status list_columns(void *state, double *ret_rate, struct weir_error *err)
{
    struct storage_bench *bench = state;
    int64_t started = weir_now_ns();
    enum weir_status status = listing_read(bench->rig, bench->listed, &bench->columns, err);
    *ret_rate = (double)bench->columns.count * 1e9 / (double)(weir_now_ns() - started);
    return status;
}

enum weir_status select_rows(void *state, double *ret_rate, struct weir_error *err)
{
    struct storage_bench *bench = state;
    int64_t started = weir_now_ns();
    enum weir_status status = table_select(bench->listed_table, &bench->columns, err);
    *ret_rate = (double)bench->columns.count * 1e9 / (double)(weir_now_ns() - started);
    return status;
}
