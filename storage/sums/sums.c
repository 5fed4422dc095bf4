/* The course of summing: see sums.h. What is to be read is planned on the loop, in short pieces, read beside it
 * (sum_job.h), and stored on it again. */
#include "storage/sums/sums_state.h"

#include "core/base/fault.h"
#include "core/base/log.h"
#include "storage/files/owned.h"
#include "storage/sql/queries.h"

#include <stdlib.h>

enum {
    TICK_MS = 500,
    PAUSE_MS = 20,      /* between small jobs, and pieces of planning that find nothing to read */
    DAMAGED_TICKS = 4,  /* damaged blocks are looked at again */
    MISSED_TICKS = 120, /* …, what could not be read */
    CHUNKS_MAX = 65536, /* waiting to be looked into */
};

uint64_t storage_sums_edition(const struct sums *sums)
{
    return sums->edition;
}

/* ---- which bytes ---- */

bool storage_sums_are_for(const struct dataset *dataset)
{
    return storage_owns(dataset) && !dataset->declaration->is_remote;
}

uint64_t storage_sums_extent(const struct dataset *dataset, const struct stored_file *file)
{
    if (!storage_sums_are_for(dataset) || file->state != FILE_LIVE || file->path == NULL ||
        file->samples == 0)
        return 0;
    return dataset->declaration->format->is_one_sample ? file->size : file->indexed;
}

const struct stored_file *storage_sums_file(const struct sums *sums, const struct block_at *at,
                                            const struct dataset **ret_dataset)
{
    const struct dataset *dataset = storage_catalog_at(sums->store->catalog, at->dataset);
    struct stored_file *file = NULL;
    struct weir_error err;

    *ret_dataset = dataset;
    return dataset != NULL && storage_dataset_file(dataset, at->file, &file, &err) == WEIR_OK &&
                   file != NULL && storage_sums_extent(dataset, file) > at->block * SUM_BLOCK_BYTES
               ? file
               : NULL;
}

/* ---- storing ---- */

/* The sum is still the one that the block was compared with. */
static bool is_compared(const struct sum_task *task, struct sum_rows *rows)
{
    struct block_sum known;
    struct weir_error err;

    return storage_sum_rows_get(rows, &task->at, &known, &err) == WEIR_OK &&
           known.sum == task->known.sum && known.length == task->known.length;
}

/* Nothing is reported before the thread has read it twice: the loop waits for no disk that fails. */
static void suspect(struct sums *sums, const struct sum_task *task, struct sum_rows *rows)
{
    if (!is_compared(task, rows))
        return;
    if (storage_block_set_remove(&sums->suspects, &task->at)) {
        storage_sums_note_damage(sums, &task->at);
        return;
    }
    (void)storage_block_set_add(&sums->suspects, &task->at);
    storage_first_reads_again(sums->reads, &task->at);
    sums->has_more = true;
}

static bool is_wanted(const struct sums *sums, const struct sum_task *task)
{
    const struct sum_file *read = &sums->job.files[task->file];
    const struct dataset *dataset;
    const struct stored_file *file = storage_sums_file(sums, &task->at, &dataset);
    const struct block_at *at = &task->at;
    uint64_t from = at->block * SUM_BLOCK_BYTES;

    return file != NULL && file->device == read->device && file->inode == read->inode &&
           !storage_block_set_touch(&sums->touched, at->dataset, at->file, from, SUM_BLOCK_BYTES);
}

static enum weir_status settle(struct sums *sums, struct sum_task *task, struct sum_rows *rows,
                               struct weir_error *err)
{
    if (!is_wanted(sums, task)) {
        sums->has_missed = true;
        return WEIR_OK;
    }
    if (task->outcome == SUM_OTHER) {
        suspect(sums, task, rows);
        return WEIR_OK;
    }
    if (task->outcome == SUM_NOT_READ) {
        sums->has_missed = true;
        return WEIR_OK;
    }
    storage_first_reads_saw(sums->reads, &task->at);
    (void)storage_block_set_remove(&sums->suspects, &task->at);
    storage_sums_note_good(sums, &task->at);
    return task->length > 0
               ? storage_sum_rows_put(
                     rows, &task->at,
                     (struct block_sum){task->sum, task->length, task->known.is_unproven}, err)
               : WEIR_OK;
}

/* Settles all blocks that have been read. */
static enum weir_status settle_all(struct sums *sums, struct weir_error *err)
{
    struct sum_rows *rows = weir_calloc(1, sizeof(*rows));
    enum weir_status status = WEIR_OK;

    rows->db = sums->store->db;
    for (size_t i = 0; status == WEIR_OK && i < sums->job.task_count; i++) {
        storage_file_cache_trim(sums->store->catalog->file_cache);
        status = settle(sums, &sums->job.tasks[i], rows, err);
    }
    if (status == WEIR_OK)
        status = storage_sum_rows_write(rows, err);
    free(rows);
    return status;
}

/* The same with new sums, in one transaction. */
static enum weir_status store(struct sums *sums, struct weir_error *err)
{
    struct weir_db *db = sums->store->db;
    enum weir_status status = weir_db_begin(db, err);

    if (status == WEIR_OK)
        status = DB_RUN(db, Q_commit_unsynced, NULL, err);
    if (status == WEIR_OK)
        status = settle_all(sums, err);
    if (status == WEIR_OK && weir_fault("storage.sums.store"))
        status = weir_fail(err, WEIR_UNAVAILABLE, "fault storage.sums.store");
    if (status == WEIR_OK)
        status = weir_db_commit(db, err);
    if (status != WEIR_OK)
        weir_db_rollback(db);
    return status;
}

static bool has_new_sums(const struct sum_job *job)
{
    for (size_t i = 0; i < job->task_count; i++) {
        if (job->tasks[i].length > 0)
            return true;
    }
    return false;
}

static enum weir_status end_job(struct sums *sums, struct weir_error *err)
{
    return has_new_sums(&sums->job) ? store(sums, err) : settle_all(sums, err);
}

/* ---- the course ---- */

static void on_soon(void *owner);

static void come_soon(struct sums *sums, int64_t delay_ms)
{
    if (sums->soon_timer == 0)
        sums->soon_timer = weir_loop_timer(sums->store->loop, delay_ms, 0, on_soon, sums);
}

static void on_done(void *owner)
{
    struct sums *sums = owner;
    bool is_full = sums->job.task_count == SUM_TASKS_MAX;
    struct weir_error err;

    sums->work = NULL;
    sums->edition++;
    if (sums->is_void || sums->store->is_stale) {
        sums->has_missed = true;
    } else if (end_job(sums, &err) != WEIR_OK) {
        sums->has_missed = true;
        weir_log(WEIR_LOG_DEBUG, "sums not stored", "error=\"%s\"", err.text);
    }
    storage_sum_job_clear(&sums->job);
    if (sums->has_more)
        come_soon(sums, is_full ? 0 : PAUSE_MS);
}

static void run(struct weir_work *work, void *owner)
{
    struct sums *sums = owner;

    storage_sum_job_run(work, &sums->job);
}

static void begin(struct sums *sums)
{
    struct weir_error err;

    sums->is_void = false;
    storage_block_set_fini(&sums->touched);
    if (weir_work_start(sums->store->loop, run, on_done, sums, &sums->work, &err) == WEIR_OK)
        return;
    sums->work = NULL;
    sums->has_missed = true;
    storage_sum_job_clear(&sums->job);
}

static void go_on(struct sums *sums)
{
    if (sums->work != NULL || sums->store->is_stale)
        return;
    sums->has_more = storage_sums_plan(sums);
    if (sums->job.task_count > 0)
        begin(sums);
    else if (sums->has_more)
        come_soon(sums, PAUSE_MS);
}

static void on_soon(void *owner)
{
    struct sums *sums = owner;

    sums->soon_timer = 0;
    go_on(sums);
}

static void on_tick(void *owner)
{
    struct sums *sums = owner;

    sums->ticks++;
    for (size_t i = 0; sums->ticks % DAMAGED_TICKS == 0 && i < sums->damaged.count; i++)
        storage_first_reads_again(sums->reads, &sums->damaged.at[i]);
    if (sums->ticks % MISSED_TICKS == 0 && sums->has_missed && !sums->store->is_stale &&
        sums->sweep_dataset >= sums->store->catalog->count)
        storage_sums_sweep_again(sums);
    go_on(sums);
}

/* ---- reading ---- */

/* Somebody is about to read what may be damaged. Those that ask at about the same time share a job. */
static void hurry(struct sums *sums)
{
    sums->has_more = true;
    if (sums->work == NULL)
        come_soon(sums, PAUSE_MS);
}

void storage_sums_want(struct sums *sums, const struct dataset *dataset, uint64_t file,
                       uint64_t offset, uint64_t length)
{
    struct block_at at = {dataset->number, file, offset / SUM_BLOCK_BYTES};
    bool is_new = false;

    if (!storage_sums_are_for(dataset))
        return;
    for (; at.block * SUM_BLOCK_BYTES < offset + length; at.block++)
        is_new = storage_first_reads_want(sums->reads, &at) || is_new;
    if (is_new)
        hurry(sums);
}

void storage_sums_want_chunk(struct sums *sums, uint64_t first_id)
{
    size_t count = sums->chunks.count;

    if (count < CHUNKS_MAX && (count == 0 || sums->chunks.at[count - 1] != first_id))
        storage_id_list_add(&sums->chunks, first_id);
    hurry(sums);
}

/* ---- life ---- */

struct sums *storage_sums_new(struct store *store)
{
    struct sums *sums = weir_calloc(1, sizeof(*sums));

    sums->store = store;
    sums->job.secret = &store->secret;
    sums->reads = storage_first_reads_new();
    sums->tick_timer = weir_loop_timer(store->loop, TICK_MS, TICK_MS, on_tick, sums);
    return sums;
}

void storage_sums_reset(struct sums *sums)
{
    sums->is_void = true;
    sums->edition++;
    sums->open_count = 0;
    sums->chunks.count = sums->chunk_at = 0;
    storage_block_set_fini(&sums->open_blocks);
    storage_block_set_fini(&sums->damaged);
    storage_block_set_fini(&sums->suspects);
    storage_first_reads_clear(sums->reads);
    storage_sums_sweep_again(sums);
}

void storage_sums_free(struct sums *sums)
{
    if (sums == NULL)
        return;
    weir_work_stop(sums->work);
    weir_loop_cancel(sums->store->loop, sums->tick_timer);
    weir_loop_cancel(sums->store->loop, sums->soon_timer);
    storage_sum_job_clear(&sums->job);
    storage_first_reads_free(sums->reads);
    storage_block_set_fini(&sums->damaged);
    storage_block_set_fini(&sums->suspects);
    storage_block_set_fini(&sums->open_blocks);
    storage_block_set_fini(&sums->touched);
    free(sums->chunks.at);
    free(sums->open);
    free(sums);
}
