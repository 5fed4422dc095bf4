/* Works off pending writes, object by object: see s3_pending.h. */
#include "storage/erasure/s3_pending.h"

#include "core/base/clock.h"
#include "core/base/file.h"
#include "core/base/log.h"
#include "core/base/memory.h"
#include "storage/catalog/known.h"
#include "storage/erasure/s3_pending_row.h"
#include "storage/objects/s3_late.h"
#include "storage/objects/s3_mirror.h"
#include "storage/objects/s3_purge.h"
#include "storage/objects/s3_ranges.h"
#include "storage/objects/s3_rewrite.h"
#include "storage/sql/queries.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

enum { PAUSE_FIRST_MS = 200, PAUSE_MAX_MS = 3600 * 1000, DATABASE_MS = 1000 };

struct pending_writes {
    struct eraser *eraser;
    struct s3_purge *purge;
    struct s3_rewrite *rewrite; /* of objects that are not mirrored */
    struct s3_late *late;
    uint64_t timer;
    size_t settled; /* so far */

    uint64_t erasure; /* owner of the object at hand; 0: none is */
    uint32_t dataset;
    struct s3_remote remote;
    char *key;
    char *path; /* in the mirror */
    bool is_rewrite, was_live;
    char *etag;  /* as in the row */
    char *ready; /* as in struct s3_aim */
    /* Those that owe the same object, and whose bytes in the mirror are overwritten: one write is for all. */
    struct id_list together;
    uint64_t tries;
};

static void on_due(void *owner)
{
    struct pending_writes *pending = owner;

    pending->timer = 0;
    storage_pending_pump(pending);
}

static void come_back(struct pending_writes *pending, int64_t delay_ms)
{
    weir_loop_cancel(pending->eraser->store->loop, pending->timer);
    pending->timer = weir_loop_timer(pending->eraser->store->loop, delay_ms, 0, on_due, pending);
}

static void forget_object(struct pending_writes *pending)
{
    storage_s3_rewrite_drop(pending->rewrite);
    storage_s3_remote_close(&pending->remote);
    free(pending->key);
    free(pending->path);
    free(pending->etag);
    free(pending->ready);
    free(pending->together.at);
    pending->key = pending->path = pending->etag = pending->ready = NULL;
    pending->together = (struct id_list){0};
    pending->erasure = 0;
}

/* ---- what came of it ---- */

static int64_t pause_ms(uint64_t tries)
{
    int64_t pause = PAUSE_FIRST_MS;

    while (--tries > 0 && pause < PAUSE_MAX_MS)
        pause *= 2;
    return pause < PAUSE_MAX_MS ? pause : PAUSE_MAX_MS;
}

/* Its receipt is not written yet. */
static bool is_awaited(const struct pending_writes *pending)
{
    return storage_erasure_is_open(pending->eraser, pending->erasure);
}

static enum weir_status drop_row(const struct pending_writes *pending, struct weir_error *err)
{
    return DB_RUN(pending->eraser->store->db, Q_owed_drop, NULL, err, DB_I64(pending->erasure),
                  DB_I64(pending->dataset), DB_BYTES(weir_bytes_of(pending->key)));
}

/* Stores the same end for the others that the object is clean of. Those whose receipt is written come to it by
 * themselves. */
static enum weir_status store_end_together(const struct pending_writes *pending,
                                           struct weir_error *err)
{
    struct eraser *eraser = pending->eraser;
    struct id_list open = {0};
    enum weir_status status;

    for (size_t i = 0; i < pending->together.count; i++) {
        if (storage_erasure_is_open(eraser, pending->together.at[i]))
            storage_id_list_add(&open, pending->together.at[i]);
    }
    status = DB_RUN(eraser->store->db, Q_owed_done_together, NULL, err,
                    DB_I64S(open.at, open.count), DB_I64(pending->dataset),
                    DB_BYTES(weir_bytes_of(pending->key)), DB_TEXT(pending->etag));
    free(open.at);
    return status;
}

/* Stores the end of an object; one that is gone is forgotten, as its key may tell whose it was. */
static enum weir_status store_end(const struct pending_writes *pending,
                                  const struct s3_outcome *outcome, struct weir_error *err)
{
    enum weir_status status = weir_db_begin(pending->eraser->store->db, err);

    if (status == WEIR_OK && outcome->end == S3_END_CLEAN && !pending->is_rewrite)
        status = DB_RUN(pending->eraser->store->db, Q_object_drop, NULL, err,
                        DB_I64(pending->dataset), DB_BYTES(weir_bytes_of(pending->key)));
    if (status == WEIR_OK && is_awaited(pending))
        status = DB_RUN(pending->eraser->store->db, Q_owed_done, NULL, err,
                        DB_I64(pending->erasure), DB_I64(pending->dataset),
                        DB_BYTES(weir_bytes_of(pending->key)), DB_TEXT(outcome->why));
    else if (status == WEIR_OK)
        status = drop_row(pending, err);
    if (status == WEIR_OK && outcome->end == S3_END_CLEAN && pending->together.count > 0)
        status = store_end_together(pending, err);
    if (status == WEIR_OK)
        status = weir_db_commit(pending->eraser->store->db, err);
    if (status != WEIR_OK)
        weir_db_rollback(pending->eraser->store->db);
    return status;
}

/* Pauses outlast the process, so they end by the wall clock: one that was set back must not prolong them. */
int64_t storage_pending_wait_ms(int64_t due_us, int64_t now_us)
{
    bool is_pause = due_us > now_us && due_us - now_us <= 1000 * (int64_t)PAUSE_MAX_MS;

    return is_pause ? (due_us - now_us) / 1000 + 1 : 0;
}

/* One silence is that of the whole bucket. */
static enum weir_status store_failure(const struct pending_writes *pending,
                                      const struct s3_outcome *outcome, struct weir_error *err)
{
    uint64_t tries = pending->tries + 1;
    int64_t next_us;

    if (outcome->end == S3_END_REFUSED && tries < PENDING_TRIES)
        tries = PENDING_TRIES;
    next_us = weir_now_wall_us() + 1000 * pause_ms(tries);
    if (outcome->end == S3_END_SILENT)
        return DB_RUN(pending->eraser->store->db, Q_owed_silent, NULL, err,
                      DB_I64(pending->dataset), DB_I64(tries), DB_I64(next_us),
                      DB_TEXT(outcome->why), DB_I64(PENDING_NOT_YET_US));
    return DB_RUN(pending->eraser->store->db, Q_owed_later, NULL, err, DB_I64(pending->erasure),
                  DB_I64(pending->dataset), DB_BYTES(weir_bytes_of(pending->key)), DB_I64(tries),
                  DB_I64(next_us), DB_TEXT(outcome->why));
}

/* Tells of an object that was settled after the receipt, and has the table rewritten: no dead row keeps its key. */
static void tell_late(const struct pending_writes *pending, const struct s3_outcome *outcome)
{
    if (is_awaited(pending))
        return;
    weir_log(outcome->end == S3_END_CLEAN ? WEIR_LOG_INFO : WEIR_LOG_WARN,
             outcome->end == S3_END_CLEAN ? "an object that an erasure owed is clean at last"
                                          : "an object that an erasure owed is another one by now",
             "erasure=%" PRIu64, pending->erasure);
    storage_s3_late_rewrite(pending->late);
}

static void on_done(void *owner, const struct s3_outcome *outcome)
{
    struct pending_writes *pending = owner;
    struct eraser *eraser = pending->eraser;
    bool is_over = outcome->end == S3_END_CLEAN || outcome->end == S3_END_LEFT;
    struct dataset *dataset = storage_catalog_at(eraser->store->catalog, pending->dataset);
    struct weir_error err;
    enum weir_status status =
        is_over ? store_end(pending, outcome, &err) : store_failure(pending, outcome, &err);

    if (status == WEIR_OK && is_over)
        tell_late(pending, outcome);
    if (outcome->end == S3_END_LATER && dataset != NULL)
        storage_mirror_hurry(eraser->mirrors, dataset);
    pending->settled++;
    forget_object(pending);
    come_back(pending, status == WEIR_OK ? 0 : DATABASE_MS);
    storage_pump(eraser->store);
}

/* ---- the object at hand ---- */

/* The mirrored file is what scans have taken in, with the erased overwritten: the ETag it was mirrored under. */
static enum weir_status find_ready(struct pending_writes *pending, struct weir_error *err)
{
    struct eraser *eraser = pending->eraser;
    const struct dataset *dataset = storage_catalog_at(eraser->store->catalog, pending->dataset);
    const char *name = pending->key + strlen(pending->remote.prefix);
    struct stored_file *file = NULL;
    WEIR_AUTO(weir_rows) rows = NULL;
    struct stat found;
    enum weir_status status =
        DB_RUN(eraser->store->db, Q_object_get, &rows, err, DB_I64(pending->dataset),
               DB_BYTES(weir_bytes_of(pending->key)));

    if (status == WEIR_OK && dataset != NULL)
        status = storage_known_find(dataset, name, &file, err);
    free(pending->ready);
    pending->ready = NULL;
    if (status != WEIR_OK || weir_rows_count(rows) == 0 || file == NULL || !file->is_complete ||
        lstat(pending->path, &found) < 0 || found.st_ino != file->inode ||
        (uint64_t)found.st_size != file->size || weir_mtime_ns(&found) != file->mtime_ns)
        return status;
    pending->ready = weir_strdup(weir_rows_text(rows, 0, "etag"));
    return WEIR_OK;
}

/* Takes the object that was written as the mirrored one: the next pass need not fetch it, and no scan sees a new
 * file. */
static enum weir_status adopt(struct pending_writes *pending, const struct s3_versions *versions,
                              struct weir_error *err)
{
    const struct dataset *dataset;
    struct stat found;

    for (size_t i = 0; i < versions->count; i++) {
        const struct s3_version *version = &versions->at[i];

        if (!version->is_latest || version->etag == NULL ||
            strcmp(version->etag, pending->etag) != 0 ||
            weir_str_equal(pending->ready, pending->etag) || pending->ready == NULL ||
            lstat(pending->path, &found) < 0)
            continue;
        dataset = storage_catalog_at(pending->eraser->store->catalog, pending->dataset);
        storage_s3_ranges_forget(pending->eraser->from->objects, dataset,
                                 pending->key + strlen(pending->remote.prefix));
        storage_mirror_wrote(pending->eraser->mirrors, dataset, pending->key);
        return DB_RUN(pending->eraser->store->db, Q_object_put, NULL, err, DB_I64(pending->dataset),
                      DB_BYTES(weir_bytes_of(pending->key)), DB_TEXT(pending->etag),
                      DB_I64(found.st_size), DB_I64(version->modified_us));
    }
    return WEIR_OK;
}

static enum weir_status look(void *owner, const struct s3_versions *versions,
                             struct s3_aim *ret_aim, struct weir_error *err)
{
    struct pending_writes *pending = owner;
    enum weir_status status = pending->is_rewrite ? find_ready(pending, err) : WEIR_OK;

    if (status == WEIR_OK && pending->is_rewrite)
        status = adopt(pending, versions, err);
    *ret_aim = (struct s3_aim){.is_rewrite = pending->is_rewrite,
                               .was_live = pending->was_live,
                               .etag = pending->etag,
                               .ready = pending->ready};
    return status;
}

static enum weir_status wrote(void *owner, const char *etag, struct weir_error *err)
{
    struct pending_writes *pending = owner;

    free(pending->etag);
    pending->etag = weir_strdup(etag);
    return DB_RUN(pending->eraser->store->db, Q_owed_written, NULL, err,
                  DB_I64S(pending->together.at, pending->together.count), DB_I64(pending->dataset),
                  DB_BYTES(weir_bytes_of(pending->key)), DB_TEXT(etag));
}

static void on_rewritten(void *owner, enum s3_rewritten what, const char *why)
{
    static const struct s3_outcome OTHER = {S3_END_LATER,
                                            "another object was written there meanwhile"};
    struct pending_writes *pending = owner;

    if (what == S3_REWRITTEN)
        storage_s3_purge_prepared(pending->purge, NULL);
    else
        storage_s3_purge_prepared(pending->purge, what == S3_REWRITTEN_OTHER
                                                      ? &OTHER
                                                      : &(struct s3_outcome){S3_END_SILENT, why});
}

static void prepare(void *owner, const char *etag)
{
    struct pending_writes *pending = owner;
    struct stat found;
    bool is_there = lstat(pending->path, &found) == 0;
    const struct s3_rewrite_job job = {.remote = &pending->remote,
                                       .dataset = pending->dataset,
                                       .key = pending->key,
                                       .etag = etag,
                                       .size = is_there ? (uint64_t)found.st_size : 0};

    storage_s3_rewrite_begin(pending->rewrite, &job, on_rewritten, pending);
}

/* Finds who is served by the same write: whoever comes later may not be overwritten yet in the bytes that are sent. */
static enum weir_status find_together(struct pending_writes *pending, struct weir_error *err)
{
    WEIR_AUTO(weir_rows) rows = NULL;
    enum weir_status status =
        DB_RUN(pending->eraser->store->db, Q_owed_together, &rows, err, DB_I64(pending->dataset),
               DB_BYTES(weir_bytes_of(pending->key)), DB_I64(PENDING_NOT_YET_US));

    for (size_t i = 0; status == WEIR_OK && i < weir_rows_count(rows); i++)
        storage_id_list_add(&pending->together, (uint64_t)weir_rows_i64(rows, i, "erasure"));
    return status;
}

static void take_row(struct pending_writes *pending, const struct weir_rows *row)
{
    struct weir_bytes key = weir_rows_bytes(row, 0, "key");

    pending->erasure = (uint64_t)weir_rows_i64(row, 0, "erasure");
    pending->dataset = (uint32_t)weir_rows_i64(row, 0, "dataset");
    pending->key = weir_strndup((const char *)key.at, key.size);
    pending->is_rewrite = weir_rows_bool(row, 0, "is_rewrite");
    pending->was_live = weir_rows_bool(row, 0, "was_live");
    pending->etag = weir_strdup(weir_rows_text(row, 0, "etag"));
    pending->tries = (uint64_t)weir_rows_i64(row, 0, "tries");
}

static void begin(struct pending_writes *pending, const struct weir_rows *row)
{
    const struct dataset *dataset;
    struct weir_error err;
    bool is_remote;

    take_row(pending, row);
    if (pending->is_rewrite && find_together(pending, &err) != WEIR_OK) {
        forget_object(pending);
        come_back(pending, DATABASE_MS);
        return;
    }
    dataset = storage_catalog_at(pending->eraser->store->catalog, pending->dataset);
    if (dataset == NULL || !dataset->declaration->is_mirrored) {
        on_done(pending, &(struct s3_outcome){S3_END_REFUSED, "its dataset is no longer a bucket"});
        return;
    }
    if (storage_s3_remote_open(&dataset->declaration->s3, &pending->remote, &err) != WEIR_OK) {
        on_done(pending, &(struct s3_outcome){.end = S3_END_SILENT, .why = err.text});
        return;
    }
    is_remote = dataset->declaration->is_remote;
    pending->path =
        weir_format("%s/%s", dataset->root, pending->key + strlen(pending->remote.prefix));
    storage_s3_purge_begin(
        pending->purge,
        &(struct s3_purge_job){.remote = &pending->remote,
                               .key = pending->key,
                               .path = is_remote ? storage_s3_rewrite_path(pending->rewrite)
                                                 : pending->path,
                               .prepare = is_remote ? prepare : NULL,
                               .look = look,
                               .wrote = wrote,
                               .done = on_done,
                               .owner = pending});
}

void storage_pending_pump(struct pending_writes *pending)
{
    WEIR_AUTO(weir_rows) rows = NULL;
    struct weir_error err;
    int64_t wait_ms;

    if (pending->erasure != 0)
        return;
    if (pending->eraser->store->is_stale ||
        DB_RUN(pending->eraser->store->db, Q_owed_next, &rows, &err) != WEIR_OK) {
        come_back(pending, DATABASE_MS);
        return;
    }
    if (weir_rows_count(rows) == 0 || weir_rows_i64(rows, 0, "next_us") == PENDING_NOT_YET_US)
        return;
    wait_ms = storage_pending_wait_ms(weir_rows_i64(rows, 0, "next_us"), weir_now_wall_us());
    if (wait_ms > 0)
        come_back(pending, wait_ms);
    else
        begin(pending, rows);
}

/* ---- what others ask ---- */

enum weir_status storage_pending_is_settled(struct eraser *eraser, struct erasure_record *erasure,
                                            bool *ret_settled, struct weir_error *err)
{
    WEIR_AUTO(weir_rows) rows = NULL;
    struct id_list numbers;
    enum weir_status status;

    *ret_settled = false;
    if (erasure->pending_progress.asked == eraser->pending->settled + 1)
        return WEIR_OK;
    numbers = storage_erasure_record_numbers(erasure, 0, erasure->count);
    status = DB_RUN(eraser->store->db, Q_owed_fresh, &rows, err, DB_I64S(numbers.at, numbers.count),
                    DB_I64(PENDING_TRIES));
    free(numbers.at);
    if (status != WEIR_OK)
        return status;
    *ret_settled = weir_rows_i64(rows, 0, "count") == 0;
    erasure->pending_progress.asked = *ret_settled ? 0 : eraser->pending->settled + 1;
    return WEIR_OK;
}

/* ---- life ---- */

struct pending_writes *storage_pending_new(struct eraser *eraser)
{
    struct pending_writes *pending = weir_calloc(1, sizeof(*pending));

    pending->eraser = eraser;
    pending->purge = storage_s3_purge_new(eraser->store->transport);
    pending->rewrite = storage_s3_rewrite_new(eraser->store);
    pending->late = storage_s3_late_new(eraser->store);
    return pending;
}

void storage_pending_free(struct pending_writes *pending)
{
    if (pending == NULL)
        return;
    weir_loop_cancel(pending->eraser->store->loop, pending->timer);
    storage_s3_purge_free(pending->purge);
    forget_object(pending);
    storage_s3_rewrite_free(pending->rewrite);
    storage_s3_late_free(pending->late);
    free(pending);
}
