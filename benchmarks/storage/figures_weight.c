/* Figures about what metadata weighs: its rates are samples per byte, or one over bytes, so that a ratio
 * of 1 is what is allowed. */
#include "benchmarks/storage/bench.h"
#include "benchmarks/weight.h"

#include <time.h>

static const double MEMORY_MAX = 300e6;
enum { LOOK_NS = 20000000, RECORDS_IN_ONE = SOURCE_RECORD_BYTES / 16 };

/* ---- in Postgres ---- */

/* On a platform of its own: elsewhere the merges of other data sets would be weighed along. */
static enum weir_status weigh(struct storage_bench *bench, const struct registration *what,
                              double *ret_bytes, struct weir_error *err)
{
    WEIR_AUTO_FREE char *directory =
        weir_format("%s/scales-%llu", bench->directory, (unsigned long long)++bench->datasets);
    struct storage_bench apart = {.directory = directory};
    struct msg_dataset_is dataset;
    uint64_t before = 0, after = 0;
    enum weir_status status = rig_start(directory, 0, &apart.rig, err);
    if (status != WEIR_OK)
        return status;
    status = weight_stored(rig_postgres(apart.rig), &before, err);
    if (status == WEIR_OK)
        status = register_dataset(&apart, what, NULL, &dataset, err);
    if (status == WEIR_OK)
        status = weight_stored(rig_postgres(apart.rig), &after, err);
    rig_stop(apart.rig);
    *ret_bytes = (double)after - (double)before;
    return status;
}

enum weir_status weigh_records(void *state, double *ret_rate, struct weir_error *err)
{
    struct storage_bench *bench = state;
    double bytes = 0;
    enum weir_status status = need_records(bench, err);
    const struct registration what = {&bench->records, RECORDS_YAML, bench->records.samples};
    if (status == WEIR_OK)
        status = weigh(bench, &what, &bytes, err);
    *ret_rate = (double)bench->records.samples / bytes;
    return status;
}

enum weir_status weigh_rows(void *state, double *ret_rate, struct weir_error *err)
{
    struct storage_bench *bench = state;
    double bytes = 0;
    enum weir_status status = need_rows(bench, err);
    const struct registration what = {&bench->rows, ROWS_YAML, bench->rows.samples};
    if (status == WEIR_OK)
        status = weigh(bench, &what, &bytes, err);
    *ret_rate = (double)bench->rows.samples / bytes;
    return status;
}

/* Measures the cost of the index: the same records with and without it. */
enum weir_status weigh_subjects(void *state, double *ret_rate, struct weir_error *err)
{
    struct storage_bench *bench = state;
    double without = 0, with = 0;
    enum weir_status status = need_records(bench, err);
    struct registration what = {&bench->records, RECORDS_YAML, bench->records.samples};
    if (status == WEIR_OK)
        status = weigh(bench, &what, &without, err);
    what.yaml = SUBJECTS_YAML;
    if (status == WEIR_OK)
        status = weigh(bench, &what, &with, err);
    *ret_rate = (double)bench->records.samples / (with - without);
    return status;
}

enum weir_status two_bytes(void *state, double *ret_rate, struct weir_error *err)
{
    (void)state;
    (void)err;
    *ret_rate = 1.0 / 2;
    return WEIR_OK;
}

enum weir_status twelve_bytes(void *state, double *ret_rate, struct weir_error *err)
{
    (void)state;
    (void)err;
    *ret_rate = 1.0 / 12;
    return WEIR_OK;
}

/* ---- in memory ---- */

/* Looks at storage's memory until the dataset is scanned. */
static enum weir_status watch_memory(struct storage_bench *bench, const char *name, size_t samples,
                                     struct weir_error *err)
{
    const struct msg_dataset_request ask = {.name = name};
    const struct rig_call call = {RIG_STORAGE, MSG_dataset_request, &ask, MSG_dataset_is};
    struct msg_dataset_is dataset = {.scanned = false};
    struct weight_memory memory = {0};
    enum weir_status status = WEIR_OK;
    while (status == WEIR_OK && !dataset.scanned) {
        nanosleep(&(struct timespec){.tv_nsec = LOOK_NS}, NULL);
        status = rig_request(bench->rig, &call, &dataset, err);
        if (status == WEIR_OK)
            status = weight_resident(rig_pid(bench->rig, RIG_STORAGE), &memory, err);
        if (bench->memory_half == 0 && dataset.ingested >= samples / 2)
            bench->memory_half = memory.now;
    }
    bench->memory_end = memory.now;
    bench->memory_peak = memory.peak;
    if (status == WEIR_OK && dataset.live != samples)
        status = weir_fail(err, WEIR_INTERNAL, "storage found %llu samples, expected %zu",
                           (unsigned long long)dataset.live, samples);
    return status;
}

enum weir_status prepare_memory(void *state, struct weir_error *err)
{
    struct storage_bench *bench = state;
    WEIR_AUTO_FREE char *name = NULL;
    enum weir_status status = need_records(bench, err);
    const struct registration what = {&bench->records, MANY_YAML,
                                      bench->records.samples * RECORDS_IN_ONE};
    if (status != WEIR_OK || bench->memory_peak > 0)
        return status;
    status = declare_dataset(bench, &what, &name, err);
    return status == WEIR_OK ? watch_memory(bench, name, what.samples, err) : status;
}

enum weir_status peak_memory(void *state, double *ret_rate, struct weir_error *err)
{
    (void)err;
    *ret_rate = 1 / (double)((struct storage_bench *)state)->memory_peak;
    return WEIR_OK;
}

enum weir_status allowed_memory(void *state, double *ret_rate, struct weir_error *err)
{
    (void)state;
    (void)err;
    *ret_rate = 1 / MEMORY_MAX;
    return WEIR_OK;
}

enum weir_status memory_at_the_end(void *state, double *ret_rate, struct weir_error *err)
{
    (void)err;
    *ret_rate = 1 / (double)((struct storage_bench *)state)->memory_end;
    return WEIR_OK;
}

enum weir_status memory_half_way(void *state, double *ret_rate, struct weir_error *err)
{
    (void)err;
    *ret_rate = 1 / (double)((struct storage_bench *)state)->memory_half;
    return WEIR_OK;
}
