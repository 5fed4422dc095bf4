/* The choice of the blocks to read and sum next: see sums_state.h. First blocks that somebody has asked for, then what
 * was committed lately, then whatever of all files has no sums yet. */
#include "storage/sums/sums_state.h"

#include "core/base/clock.h"
#include "storage/scanning/scan.h"
#include "storage/sql/queries.h"

#include <stdlib.h>

enum {
    PLAN_MS = 5,        /* a piece of planning */
    SWEEP_FILES = 1024, /* at a time */
};

static bool is_at_work(const struct sums *sums, uint32_t dataset, uint64_t file)
{
    return storage_block_set_touch(&sums->open_blocks, dataset, file, 0, UINT64_MAX);
}

static bool has_room(const struct sums *sums)
{
    return sums->job.task_count < SUM_TASKS_MAX;
}

/* ---- blocks ---- */

static void add_task(struct sums *sums, const struct dataset *dataset,
                     const struct stored_file *file, const struct sum_task *task)
{
    storage_sum_job_file(&sums->job, storage_dataset_path(dataset, file), file);
    storage_sum_job_add(&sums->job, task);
}

/* A block that somebody has asked for is compared with its sum, if it has one. */
static enum weir_status plan_read(struct sums *sums, struct sum_rows *rows,
                                  const struct block_at *at, struct weir_error *err)
{
    struct sum_task task = {.at = *at};
    const struct dataset *dataset;
    const struct stored_file *file = storage_sums_file(sums, at, &dataset);
    enum weir_status status = WEIR_OK;

    if (file == NULL || storage_block_set_touch(&sums->open_blocks, at->dataset, at->file,
                                                at->block * SUM_BLOCK_BYTES, SUM_BLOCK_BYTES)) {
        (void)storage_block_set_remove(&sums->damaged, at);
        return WEIR_OK;
    }
    status = storage_sum_rows_get(rows, at, &task.known, err);
    if (status != WEIR_OK || task.known.length == 0)
        return status;
    if (task.known.length == SUM_DAMAGED)
        storage_sums_note_damage(sums, at);
    else
        add_task(sums, dataset, file, &task);
    return WEIR_OK;
}

static enum weir_status plan_reads(struct sums *sums, struct sum_rows *rows, int64_t until_ms,
                                   struct weir_error *err)
{
    struct block_at at;
    enum weir_status status = WEIR_OK;

    while (status == WEIR_OK && has_room(sums) && weir_now_ms() < until_ms &&
           storage_first_reads_next(sums->reads, &at)) {
        status = plan_read(sums, rows, &at, err);
        if (status != WEIR_OK)
            storage_first_reads_again(sums->reads, &at);
    }
    return status;
}

/* The blocks of a file that lack a sum, or have one of less than there is by now. True when all are planned. */
static bool plan_blocks(struct sums *sums, struct sum_rows *rows, const struct dataset *dataset,
                        const struct stored_file *file, struct fresh_bytes *fresh)
{
    uint64_t extent = storage_sums_extent(dataset, file);
    uint64_t to = fresh->to < extent ? fresh->to : extent;
    struct weir_error err;

    for (uint64_t block = fresh->from / SUM_BLOCK_BYTES; block * SUM_BLOCK_BYTES < to; block++) {
        struct sum_task task = {.at = {dataset->number, fresh->file, block},
                                .length = storage_block_length(block, to)};

        fresh->from = block * SUM_BLOCK_BYTES;
        if (!has_room(sums) || storage_sum_rows_get(rows, &task.at, &task.known, &err) != WEIR_OK)
            return false;
        if (task.known.length < task.length)
            add_task(sums, dataset, file, &task);
    }
    return true;
}

/* Drops the sums of a file that is gone, without waiting for the disk: those that come back go at the next start. */
static bool drop(struct sums *sums, uint32_t dataset, uint64_t file)
{
    struct weir_db *db = sums->store->db;
    struct weir_error err;
    enum weir_status status = weir_db_begin(db, &err);

    sums->edition++;
    if (status == WEIR_OK)
        status = DB_RUN(db, Q_commit_unsynced, NULL, &err);
    if (status == WEIR_OK)
        status = storage_sum_rows_drop(db, dataset, file, &err);
    if (status == WEIR_OK)
        status = weir_db_commit(db, &err);
    if (status != WEIR_OK)
        weir_db_rollback(db);
    return status == WEIR_OK;
}

/* True when nothing is left to do for it. */
static bool plan_fresh(struct sums *sums, struct sum_rows *rows, const struct dataset *dataset,
                       struct fresh_bytes *fresh)
{
    struct stored_file *file = NULL;
    struct weir_error err;

    if (is_at_work(sums, dataset->number, fresh->file) ||
        storage_dataset_file(dataset, fresh->file, &file, &err) != WEIR_OK)
        return false;
    if (file != NULL && storage_sums_extent(dataset, file) > 0)
        return plan_blocks(sums, rows, dataset, file, fresh);
    rows->firsts.is_there = rows->others.is_there = false; /* they may be of this file */
    return drop(sums, dataset->number, fresh->file);
}

static void plan_dataset(struct sums *sums, struct sum_rows *rows, struct dataset *dataset,
                         int64_t until_ms)
{
    struct fresh *fresh = &dataset->fresh;
    size_t kept = 0, i = 0;

    for (; i < fresh->count && has_room(sums) && weir_now_ms() < until_ms; i++) {
        if (!plan_fresh(sums, rows, dataset, &fresh->at[i]))
            fresh->at[kept++] = fresh->at[i];
    }
    for (; i < fresh->count; i++)
        fresh->at[kept++] = fresh->at[i];
    fresh->count = kept;
}

/* ---- all files, once a start ---- */

static void sweep_file(struct sums *sums, struct sum_rows *rows, struct dataset *dataset,
                       const struct stored_file *file)
{
    const struct block_at first = {dataset->number, storage_file_number(file), 0};
    uint64_t extent = storage_sums_extent(dataset, file);
    struct block_sum known = {0};
    struct weir_error err;

    if (storage_sum_rows_get(rows, &first, &known, &err) != WEIR_OK)
        sums->has_missed = true;
    else if (extent > SUM_BLOCK_BYTES || known.length < extent ||
             (extent == 0 && (known.length > 0 || known.is_unproven)))
        storage_fresh_add(&dataset->fresh, (struct fresh_bytes){first.file, 0, extent});
}

/* Plans files without sums; true when the dataset is through. One whose staged rows are not committed waits. */
static bool sweep_dataset(struct sums *sums, struct sum_rows *rows, struct dataset *dataset,
                          int64_t until_ms)
{
    uint64_t count = storage_dataset_file_end(dataset);

    if (!storage_sums_are_for(dataset)) {
        sums->sweep_file = count;
        return true;
    }
    if (storage_scan_is_running(dataset) || dataset->fresh.count > 0)
        return false;
    for (size_t i = 0; i < SWEEP_FILES && sums->sweep_file < count; i++) {
        struct stored_file *file = NULL;
        struct weir_error err;

        storage_file_cache_trim(dataset->file_cache);
        if (weir_now_ms() >= until_ms ||
            storage_dataset_file(dataset, sums->sweep_file, &file, &err) != WEIR_OK)
            return true;
        sums->sweep_file++;
        if (file != NULL)
            sweep_file(sums, rows, dataset, file);
    }
    return true;
}

/* True when there is more of it to do now. */
static bool sweep(struct sums *sums, struct sum_rows *rows, int64_t until_ms)
{
    const struct catalog *catalog = sums->store->catalog;
    struct dataset *dataset;

    if (sums->sweep_dataset >= catalog->count)
        return false;
    dataset = catalog->datasets[sums->sweep_dataset];
    if (!sweep_dataset(sums, rows, dataset, until_ms))
        return dataset->fresh.count > 0 &&
               !is_at_work(sums, dataset->number, dataset->fresh.at[0].file);
    if (sums->sweep_file >= storage_dataset_file_end(dataset)) {
        sums->sweep_dataset++;
        sums->sweep_file = 0;
    }
    return true;
}

void storage_sums_sweep_again(struct sums *sums)
{
    sums->sweep_dataset = 0;
    sums->sweep_file = 0;
    sums->has_missed = false;
}

/* ---- chunks that were asked for as a whole ---- */

static void want_rows(struct sums *sums, const struct dataset *dataset, const struct chunk *chunk)
{
    for (uint32_t i = 0; i < chunk->count; i++)
        storage_sums_want(sums, dataset, (uint64_t)weir_column_at(&chunk->files, i),
                          (uint64_t)weir_column_at(&chunk->offsets, i),
                          (uint64_t)weir_column_at(&chunk->lengths, i));
}

static void look_into(struct sums *sums, uint64_t id)
{
    struct store *store = sums->store;
    const struct dataset *dataset = storage_catalog_at(store->catalog, weir_sample_dataset(id));
    const struct chunk_ref *ref =
        dataset != NULL ? storage_dataset_chunk(dataset, weir_sample_block(id), weir_sample_row(id))
                        : NULL;
    const struct chunk *chunk;
    struct weir_error err;

    if (ref != NULL &&
        storage_chunk_cache_get(store->cache, store->db, dataset, ref, &chunk, &err) == WEIR_OK)
        want_rows(sums, dataset, chunk);
}

static bool look_into_some(struct sums *sums, int64_t until_ms)
{
    while (sums->chunk_at < sums->chunks.count && weir_now_ms() < until_ms)
        look_into(sums, sums->chunks.at[sums->chunk_at++]);
    if (sums->chunk_at < sums->chunks.count)
        return true;
    sums->chunks.count = sums->chunk_at = 0;
    return false;
}

/* ---- all of it ---- */

bool storage_sums_plan(struct sums *sums)
{
    struct store *store = sums->store;
    struct sum_rows *rows = weir_calloc(1, sizeof(*rows));
    int64_t until_ms = weir_now_ms() + PLAN_MS;
    struct weir_error err;
    bool more = look_into_some(sums, until_ms);

    rows->db = store->db;
    storage_file_cache_trim(store->catalog->file_cache);
    if (plan_reads(sums, rows, until_ms, &err) != WEIR_OK)
        more = false; /* with the next tick */
    for (size_t i = 0; i < store->catalog->count && has_room(sums); i++) {
        struct dataset *dataset = store->catalog->datasets[i];

        plan_dataset(sums, rows, dataset, until_ms);
        if (dataset->fresh.is_lost && dataset->fresh.count == 0) {
            dataset->fresh.is_lost = false;
            storage_sums_sweep_again(sums);
        }
    }
    if (has_room(sums) && weir_now_ms() < until_ms)
        more = sweep(sums, rows, until_ms) || more;
    else
        more = true;
    free(rows);
    return more;
}
