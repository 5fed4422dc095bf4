/* bench_storage: registering, listing and reading samples, and what they weigh (C15). */
#include "benchmarks/storage/bench.h"

#include <stdlib.h>

/* ---- data sets ---- */

#define RECORDS_SOURCE                                                                           \
    "    source: {path: %s, format: binary, record_bytes: 160, import: reference, settle: 0s,\n" \
    "             on_erase: scrub}\n"                                                            \
    "    time: {from: file_name, pattern: \"day_%%Y-%%m-%%d\"}\n"                                \
    "    label: {offset: 0, type: i32}\n"

const char RECORDS_YAML[] = RECORDS_SOURCE;
const char SUBJECTS_YAML[] = RECORDS_SOURCE "    subject: {offset: 8, type: u64}\n";
const char MANY_YAML[] =
    "    source: {path: %s, format: binary, record_bytes: 16, import: reference, settle: 0s}\n"
    "    time: {from: file_name, pattern: \"day_%%Y-%%m-%%d\"}\n"
    "    label: {offset: 0, type: i32}\n";
const char ROWS_YAML[] = "    source: {path: %s, format: csv, import: reference, settle: 0s}\n"
                         "    time: {from: field, field: time}\n"
                         "    label: {field: label, type: i64}\n";
const char PICTURES_YAML[] =
    "    source: {path: %s, format: files, import: reference, settle: 0s}\n"
    "    time: {from: mtime}\n";

typedef enum weir_status make_fn(const char *directory, size_t samples, struct source *ret_source,
                                 struct weir_error *err);

static enum weir_status need(struct storage_bench *bench, struct source *source, const char *name,
                             size_t samples, make_fn *make, struct weir_error *err)
{
    WEIR_AUTO_FREE char *directory = weir_format("%s/%s", bench->directory, name);
    if (source->samples > 0)
        return WEIR_OK;
    return make(directory, (size_t)((double)samples * bench->scale) + 1, source, err);
}

enum weir_status need_records(struct storage_bench *bench, struct weir_error *err)
{
    return need(bench, &bench->records, "records", RECORDS, source_make_records, err);
}

enum weir_status need_rows(struct storage_bench *bench, struct weir_error *err)
{
    return need(bench, &bench->rows, "rows", ROWS, source_make_rows, err);
}

enum weir_status need_pictures(struct storage_bench *bench, struct weir_error *err)
{
    return need(bench, &bench->pictures, "pictures", PICTURES, source_make_pictures, err);
}

/* The pipeline file of a dataset that is called `name`. */
static void write_config(const struct registration *what, const char *name, struct weir_buf *out)
{
    weir_buf_printf(out, "pipeline: {name: %s}\ndatasets:\n  - name: %s\n", name, name);
    for (const char *at = what->yaml; *at; at++) { /* the one %s, and %% */
        if (at[0] == '%' && *++at == 's')
            weir_buf_append_text(out, what->source->directory);
        else
            weir_buf_append(out, at, 1);
    }
}

enum weir_status declare_dataset(struct storage_bench *bench, const struct registration *what,
                                 char **ret_name, struct weir_error *err)
{
    WEIR_AUTO_FREE char *name = weir_format("set-%llu", (unsigned long long)++bench->datasets);
    WEIR_AUTO_BUF config = {0};
    write_config(what, name, &config);
    const struct msg_dataset_declare declare = {.file = "bench.yaml",
                                                .config = weir_buf_view(&config)};
    const struct rig_call call = {RIG_STORAGE, MSG_dataset_declare, &declare, MSG_dataset_declared};
    struct msg_dataset_declared declared;
    enum weir_status status = rig_request(bench->rig, &call, &declared, err);
    if (status == WEIR_OK)
        *ret_name = WEIR_TAKE(name);
    return status;
}

enum weir_status register_dataset(struct storage_bench *bench, const struct registration *what,
                                  char **ret_name, struct msg_dataset_is *ret_dataset,
                                  struct weir_error *err)
{
    WEIR_AUTO_FREE char *name = weir_format("set-%llu", (unsigned long long)++bench->datasets);
    WEIR_AUTO_BUF config = {0};
    write_config(what, name, &config);
    enum weir_status status = rig_scan(bench->rig, weir_buf_text(&config), name, ret_dataset, err);
    if (status == WEIR_OK && ret_dataset->live != what->samples)
        status = weir_fail(err, WEIR_INTERNAL, "storage found %llu samples, expected %zu",
                           (unsigned long long)ret_dataset->live, what->samples);
    if (status == WEIR_OK && ret_name != NULL)
        *ret_name = WEIR_TAKE(name);
    return status;
}

/* ---- opening and closing ---- */

static void close_storage(void *state)
{
    struct storage_bench *bench = state;
    if (bench == NULL)
        return;
    picks_fini(&bench->record_picks);
    picks_fini(&bench->row_picks);
    picks_fini(&bench->picture_picks);
    table_close(bench->record_table);
    table_close(bench->subject_table);
    table_close(bench->row_table);
    table_close(bench->listed_table);
    source_fini(&bench->records);
    source_fini(&bench->rows);
    source_fini(&bench->pictures);
    free(bench->subjects_name);
    billion_free(bench->billion);
    free(bench->columns.ids);
    free(bench->columns.times_us);
    free(bench->columns.labels);
    rig_stop(bench->rig);
    free(bench);
}

static enum weir_status open_storage(const char *directory, double scale, void **ret_state,
                                     struct weir_error *err)
{
    struct storage_bench *bench = weir_calloc(1, sizeof(*bench));
    bench->directory = directory;
    bench->scale = scale;
    enum weir_status status = rig_start(directory, 0, &bench->rig, err);
    if (status != WEIR_OK) {
        close_storage(bench);
        return status;
    }
    *ret_state = bench;
    return WEIR_OK;
}

/* ---- the figures ---- */

// clang-format off
static const struct bench_figure FIGURES[] = {
    /* First, while storage has done nothing else. */
    {.name = "storage.memory.peak", .against = "300 MB, while 100 M samples are registered",
     .unit = "1/bytes", .bar = 1, .runs_max = 1,
     .prepare = prepare_memory, .ours = peak_memory, .theirs = allowed_memory},
    {.name = "storage.memory.flat", .against = "resident memory half way through 100 M samples",
     .unit = "1/bytes", .bar = 0.8, .runs_max = 1,
     .prepare = prepare_memory, .ours = memory_at_the_end, .theirs = memory_half_way},
    {.name = "storage.register.records", .against = "COPY of the same rows into a table with two indexes",
     .unit = "samples/s", .bar = 15, .peer = "postgres",
     .prepare = prepare_record_copy, .ours = register_records, .theirs = copy_records},
    {.name = "storage.register.cat", .against = "cat of the same files",
     .unit = "samples/s", .bar = 0.3333,
     .prepare = prepare_cat, .ours = register_records, .theirs = cat_records},
    {.name = "storage.register.subjects", .against = "COPY of the same rows into a table with three indexes",
     .unit = "samples/s", .bar = 5, .peer = "postgres",
     .prepare = prepare_subject_copy, .ours = register_subjects, .theirs = copy_subjects},
    {.name = "storage.register.csv", .against = "COPY of the same rows into a table with two indexes",
     .unit = "samples/s", .bar = 5, .peer = "postgres",
     .prepare = prepare_row_copy, .ours = register_rows, .theirs = copy_rows},
    {.name = "storage.list", .against = "a binary SELECT of the same rows",
     .unit = "samples/s", .bar = 12, .peer = "postgres",
     .prepare = prepare_listing, .ours = list_columns, .theirs = select_rows},
    {.name = "storage.read.records", .against = "pread of the same positions in one process",
     .unit = "samples/s", .bar = 0.6,
     .prepare = prepare_record_reads, .ours = read_records, .theirs = pread_records},
    {.name = "storage.read.csv", .against = "pread of the same positions in one process",
     .unit = "samples/s", .bar = 0.6,
     .prepare = prepare_row_reads, .ours = read_rows, .theirs = pread_rows},
    {.name = "storage.read.pictures", .against = "open, pread and close of the same files in one process",
     .unit = "samples/s", .bar = 0.8,
     .prepare = prepare_picture_reads, .ours = read_pictures, .theirs = pread_pictures},
    {.name = "storage.lookup.subject", .against = "5 ms a look-up among 10 M samples",
     .unit = "look-ups/s",
     .prepare = prepare_lookups, .ours = look_up_subjects, .theirs = five_milliseconds},
    {.name = "storage.lookup.billion.simulated", .against = "50 ms a look-up among a billion samples, simulated",
     .unit = "look-ups/s",
     .prepare = prepare_billion, .ours = look_up_in_a_billion, .theirs = fifty_milliseconds},
    {.name = "storage.bytes.records", .against = "2 bytes a sample in Postgres",
     .unit = "samples/byte", .bar = 1, .runs_max = 1, .tolerance = BENCH_REPEATABLE,
     .ours = weigh_records, .theirs = two_bytes},
    {.name = "storage.bytes.csv", .against = "12 bytes a sample in Postgres",
     .unit = "samples/byte", .bar = 1, .runs_max = 1, .tolerance = BENCH_REPEATABLE,
     .ours = weigh_rows, .theirs = twelve_bytes},
    {.name = "storage.bytes.subjects", .against = "12 bytes a sample in Postgres",
     .unit = "samples/byte", .bar = 1, .runs_max = 1, .tolerance = BENCH_REPEATABLE,
     .ours = weigh_subjects, .theirs = twelve_bytes},
};
// clang-format on

static const struct bench STORAGE = {
    .name = "storage",
    .summary = "registering, listing and reading samples, and what they weigh",
    .figures = FIGURES,
    .figure_count = WEIR_COUNT(FIGURES),
    .open = open_storage,
    .close = close_storage,
};

int main(int argc, char **argv)
{
    return bench_main(&STORAGE, argc, argv);
}
