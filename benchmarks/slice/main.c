/* bench_slice: what the whole path costs, against the plain way of doing the same (C15). */
#include "benchmarks/harness.h"
#include "benchmarks/slice/workload.h"
#include "benchmarks/table.h"
#include "core/base/clock.h"

#include <stdlib.h>

enum { WORKERS = 2, RECORDS = 1000000, TEXTS = 200000 };

/* Datasets: the first %s is a directory. */
#define TEXTS_SOURCE                                                         \
    "    source: {path: %s, format: jsonl, import: reference, settle: 0s}\n" \
    "    time: {from: file_name, pattern: \"day_%%Y-%%m-%%d\"}\n"            \
    "    label: {field: label}\n"

static const char TEXTS_PREPROCESS[] =
    "  operators:\n"
    "    - {op: json_text, field: text}\n"
    "    - {op: normalize_text}\n"
    "    - {op: tokenize_words}\n"
    "    - {op: tokenize_hash, ngrams: 2, buckets: 262144}\n"
    "  batch: {samples: 256, last: short, shuffle: full, order: deterministic}\n";

struct slice {
    const char *directory;
    struct rig *rig;
    struct table *table;
    size_t record_count, text_count;
    struct corpus records, texts;
    struct workload record_batches, text_batches;
    uint64_t jobs;     /* opened so far */
    uint64_t datasets; /* ingested so far */
};

static void close_slice(void *state)
{
    struct slice *slice = state;
    if (slice == NULL)
        return;
    workload_fini(&slice->record_batches);
    workload_fini(&slice->text_batches);
    table_close(slice->table);
    corpus_fini(&slice->records);
    corpus_fini(&slice->texts);
    rig_stop(slice->rig);
    free(slice);
}

/* The platform comes first: from then on this process is the user that its services are. */
static enum weir_status open_slice(const char *directory, double scale, void **ret_state,
                                   struct weir_error *err)
{
    struct slice *slice = weir_calloc(1, sizeof(*slice));
    slice->directory = directory;
    slice->record_count = (size_t)(RECORDS * scale);
    slice->text_count = (size_t)(TEXTS * scale);
    enum weir_status status = rig_start(directory, WORKERS, &slice->rig, err);
    if (status != WEIR_OK) {
        close_slice(slice);
        return status;
    }
    *ret_state = slice;
    return WEIR_OK;
}

static enum weir_status need_records(struct slice *slice, struct weir_error *err)
{
    WEIR_AUTO_FREE char *directory = weir_format("%s/records", slice->directory);
    if (slice->records.samples > 0)
        return WEIR_OK;
    return corpus_make_records(directory, slice->record_count, &slice->records, err);
}

/* ---- slice.batches ---- */

static enum weir_status prepare_record_batches(void *state, struct weir_error *err)
{
    struct slice *slice = state;
    enum weir_status status = need_records(slice, err);
    if (status != WEIR_OK)
        return status;
    slice->record_batches.corpus = &slice->records;
    return workload_prepare_records(&slice->record_batches, slice->rig, err);
}

static enum weir_status prepare_text_batches(void *state, struct weir_error *err)
{
    struct slice *slice = state;
    WEIR_AUTO_FREE char *directory = weir_format("%s/texts", slice->directory);
    WEIR_AUTO_FREE char *source = weir_format(TEXTS_SOURCE, directory);
    enum weir_status status = corpus_make_texts(directory, slice->text_count, &slice->texts, err);
    slice->text_batches.corpus = &slice->texts;
    if (status == WEIR_OK)
        status = workload_prepare(&slice->text_batches, slice->rig, "texts", source,
                                  TEXTS_PREPROCESS, err);
    return status;
}

static enum weir_status there(struct slice *slice, struct workload *workload, double *ret_rate,
                              struct weir_error *err)
{
    struct workload_run run = {.job = ++slice->jobs};
    enum weir_status status = workload_run_there(workload, slice->rig, &run, err);
    *ret_rate = (double)workload->samples / run.seconds;
    return status == WEIR_OK ? workload_check(workload, &run.tally, err) : status;
}

static enum weir_status here(struct workload *workload, double *ret_rate, struct weir_error *err)
{
    struct tally tally;
    double seconds = 0;
    enum weir_status status = workload_run_here(workload, &tally, &seconds, err);
    *ret_rate = (double)workload->samples / seconds;
    return status == WEIR_OK ? workload_check(workload, &tally, err) : status;
}

static enum weir_status records_there(void *state, double *ret_rate, struct weir_error *err)
{
    return there(state, &((struct slice *)state)->record_batches, ret_rate, err);
}

static enum weir_status records_here(void *state, double *ret_rate, struct weir_error *err)
{
    return here(&((struct slice *)state)->record_batches, ret_rate, err);
}

static enum weir_status texts_there(void *state, double *ret_rate, struct weir_error *err)
{
    return there(state, &((struct slice *)state)->text_batches, ret_rate, err);
}

static enum weir_status texts_here(void *state, double *ret_rate, struct weir_error *err)
{
    return here(&((struct slice *)state)->text_batches, ret_rate, err);
}

/* ---- slice.ingestion ---- */

static void row_of(const void *owner, size_t sample, struct table_row *ret_row)
{
    const struct corpus *corpus = owner;
    *ret_row = (struct table_row){.file = corpus->files[sample],
                                  .label = corpus->labels[sample],
                                  .time_us = corpus->times_us[corpus->files[sample]]};
}

static enum weir_status prepare_ingestion(void *state, struct weir_error *err)
{
    struct slice *slice = state;
    enum weir_status status = need_records(slice, err);
    if (status != WEIR_OK)
        return status;
    const struct table_plan plan = {
        .name = "sample", .count = slice->records.samples, .row = row_of, .owner = &slice->records};
    return table_open(rig_postgres(slice->rig), &plan, &slice->table, err);
}

static enum weir_status ingest(void *state, double *ret_rate, struct weir_error *err)
{
    struct slice *slice = state;
    WEIR_AUTO_FREE char *name = weir_format("ingested-%llu", (unsigned long long)++slice->datasets);
    WEIR_AUTO_FREE char *source = weir_format(WORKLOAD_RECORDS, slice->records.directory);
    WEIR_AUTO_FREE char *config =
        weir_format("pipeline: {name: %s}\ndatasets:\n  - name: %s\n%s", name, name, source);
    enum weir_status status = table_settle(slice->table, err);
    if (status != WEIR_OK)
        return status;
    struct msg_dataset_is dataset;
    int64_t started = weir_now_ns();
    status = rig_scan(slice->rig, config, name, &dataset, err);
    *ret_rate = (double)slice->records.samples * 1e9 / (double)(weir_now_ns() - started);
    if (status == WEIR_OK && dataset.live != slice->records.samples)
        status = weir_fail(err, WEIR_INTERNAL, "storage found %llu samples, expected %zu",
                           (unsigned long long)dataset.live, slice->records.samples);
    return status;
}

static enum weir_status copy(void *state, double *ret_rate, struct weir_error *err)
{
    struct slice *slice = state;
    enum weir_status status = table_clear(slice->table, err);
    if (status == WEIR_OK)
        status = table_settle(slice->table, err);
    int64_t started = weir_now_ns();
    if (status == WEIR_OK)
        status = table_copy(slice->table, err);
    *ret_rate = (double)slice->records.samples * 1e9 / (double)(weir_now_ns() - started);
    return status;
}

static const struct bench_figure FIGURES[] = {
    {
        .name = "slice.batches.records",
        .against = "the same work in one process",
        .unit = "samples/s",
        .bar = 0.5,
        .prepare = prepare_record_batches,
        .ours = records_there,
        .theirs = records_here,
    },
    {
        .name = "slice.batches.texts",
        .against = "the same work in one process",
        .unit = "samples/s",
        .bar = 0.5,
        .prepare = prepare_text_batches,
        .ours = texts_there,
        .theirs = texts_here,
    },
    {
        .name = "slice.ingestion",
        .against = "COPY of the same rows into a table with two indexes",
        .unit = "samples/s",
        .bar = 5,
        .peer = "postgres",
        .prepare = prepare_ingestion,
        .ours = ingest,
        .theirs = copy,
    },
};

static const struct bench SLICE = {
    .name = "slice",
    .summary = "what the whole path costs, against the plain way of doing the same",
    .figures = FIGURES,
    .figure_count = WEIR_COUNT(FIGURES),
    .open = open_slice,
    .close = close_slice,
};

int main(int argc, char **argv)
{
    return bench_main(&SLICE, argc, argv);
}
