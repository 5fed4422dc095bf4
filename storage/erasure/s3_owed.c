/* Working off what is owed, object by object: see s3_owed.h. */
#include "storage/erasure/s3_owed.h"

#include "core/base/clock.h"
#include "core/base/file.h"
#include "core/base/log.h"
#include "core/base/memory.h"
#include "storage/catalog/known.h"
#include "storage/erasure/erasing.h"
#include "storage/erasure/s3_owed_row.h"
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

struct owed {
    struct eraser *eraser;
    struct s3_purge *purge;
    struct s3_rewrite *rewrite; /* of objects that are not mirrored */
    struct s3_late *late;
    uint64_t timer;
    size_t settled; /* so far */

    uint64_t erasure; /* whose object is at hand; 0: none is */
    uint32_t dataset;
    struct s3_remote remote;
    char *key;
    char *path; /* in the mirror */
    bool is_rewrite, was_live;
    char *etag;  /* as in the row */
    char *ready; /* as in struct s3_aim */
    uint64_t tries;
};

static void on_due(void *owner)
{
    struct owed *owed = owner;

    owed->timer = 0;
    storage_owed_pump(owed);
}

static void come_back(struct owed *owed, int64_t delay_ms)
{
    weir_loop_cancel(owed->eraser->store->loop, owed->timer);
    owed->timer = weir_loop_timer(owed->eraser->store->loop, delay_ms, 0, on_due, owed);
}

static void forget_object(struct owed *owed)
{
    s3_rewrite_drop(owed->rewrite);
    s3_remote_close(&owed->remote);
    free(owed->key);
    free(owed->path);
    free(owed->etag);
    free(owed->ready);
    owed->key = owed->path = owed->etag = owed->ready = NULL;
    owed->erasure = 0;
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
static bool is_awaited(const struct owed *owed)
{
    return storage_erasing_is_open(owed->eraser, owed->erasure);
}

static enum weir_status drop_row(const struct owed *owed, struct weir_error *err)
{
    return DB_RUN(owed->eraser->store->db, Q_owed_drop, NULL, err, DB_I64(owed->erasure),
                  DB_I64(owed->dataset), DB_BYTES(weir_bytes_of(owed->key)));
}

/* What is gone there needs not be known any more, and its key may tell whose it was. */
static enum weir_status store_end(const struct owed *owed, const struct s3_outcome *outcome,
                                  struct weir_error *err)
{
    enum weir_status status = weir_db_begin(owed->eraser->store->db, err);

    if (status == WEIR_OK && outcome->end == S3_END_CLEAN && !owed->is_rewrite)
        status = DB_RUN(owed->eraser->store->db, Q_object_drop, NULL, err, DB_I64(owed->dataset),
                        DB_BYTES(weir_bytes_of(owed->key)));
    if (status == WEIR_OK && is_awaited(owed))
        status = DB_RUN(owed->eraser->store->db, Q_owed_done, NULL, err, DB_I64(owed->erasure),
                        DB_I64(owed->dataset), DB_BYTES(weir_bytes_of(owed->key)),
                        DB_TEXT(outcome->why));
    else if (status == WEIR_OK)
        status = drop_row(owed, err);
    if (status == WEIR_OK)
        status = weir_db_commit(owed->eraser->store->db, err);
    if (status != WEIR_OK)
        weir_db_rollback(owed->eraser->store->db);
    return status;
}

/* Pauses outlast the process, so they end by the wall clock: one that was set back must not prolong them. */
int64_t storage_owed_wait_ms(int64_t due_us, int64_t now_us)
{
    bool is_pause = due_us > now_us && due_us - now_us <= 1000 * (int64_t)PAUSE_MAX_MS;

    return is_pause ? (due_us - now_us) / 1000 + 1 : 0;
}

/* One silence is that of the whole bucket. */
static enum weir_status store_failure(const struct owed *owed, const struct s3_outcome *outcome,
                                      struct weir_error *err)
{
    uint64_t tries = owed->tries + 1;
    int64_t next_us;

    if (outcome->end == S3_END_REFUSED && tries < OWED_TRIES)
        tries = OWED_TRIES;
    next_us = weir_now_wall_us() + 1000 * pause_ms(tries);
    if (outcome->end == S3_END_SILENT)
        return DB_RUN(owed->eraser->store->db, Q_owed_silent, NULL, err, DB_I64(owed->dataset),
                      DB_I64(tries), DB_I64(next_us), DB_TEXT(outcome->why),
                      DB_I64(OWED_NOT_YET_US));
    return DB_RUN(owed->eraser->store->db, Q_owed_later, NULL, err, DB_I64(owed->erasure),
                  DB_I64(owed->dataset), DB_BYTES(weir_bytes_of(owed->key)), DB_I64(tries),
                  DB_I64(next_us), DB_TEXT(outcome->why));
}

/* What was deleted after the receipt leaves no dead rows with its key either. */
static void tell_late(const struct owed *owed, const struct s3_outcome *outcome)
{
    if (is_awaited(owed))
        return;
    weir_log(outcome->end == S3_END_CLEAN ? WEIR_LOG_INFO : WEIR_LOG_WARN,
             outcome->end == S3_END_CLEAN ? "an object that an erasure owed is clean at last"
                                          : "an object that an erasure owed is another one by now",
             "erasure=%" PRIu64, owed->erasure);
    s3_late_rewrite(owed->late);
}

static void on_done(void *owner, const struct s3_outcome *outcome)
{
    struct owed *owed = owner;
    struct eraser *eraser = owed->eraser;
    bool is_over = outcome->end == S3_END_CLEAN || outcome->end == S3_END_LEFT;
    struct dataset *dataset = storage_catalog_at(eraser->store->catalog, owed->dataset);
    struct weir_error err;
    enum weir_status status =
        is_over ? store_end(owed, outcome, &err) : store_failure(owed, outcome, &err);

    if (status == WEIR_OK && is_over)
        tell_late(owed, outcome);
    if (outcome->end == S3_END_LATER && dataset)
        storage_mirror_hurry(eraser->mirrors, dataset);
    owed->settled++;
    forget_object(owed);
    come_back(owed, status == WEIR_OK ? 0 : DATABASE_MS);
    storage_pump(eraser->store);
}

/* ---- the object at hand ---- */

/* The mirrored file is what scans have taken in, with the erased overwritten: the ETag it was mirrored under. */
static enum weir_status find_ready(struct owed *owed, struct weir_error *err)
{
    struct eraser *eraser = owed->eraser;
    const struct dataset *dataset = storage_catalog_at(eraser->store->catalog, owed->dataset);
    const char *name = owed->key + strlen(owed->remote.prefix);
    struct stored_file *file = NULL;
    WEIR_AUTO(weir_rows) rows = NULL;
    struct stat found;
    enum weir_status status = DB_RUN(eraser->store->db, Q_object_get, &rows, err,
                                     DB_I64(owed->dataset), DB_BYTES(weir_bytes_of(owed->key)));

    if (status == WEIR_OK && dataset)
        status = storage_known_find(dataset, name, &file, err);
    free(owed->ready);
    owed->ready = NULL;
    if (status != WEIR_OK || weir_rows_count(rows) == 0 || !file || !file->is_complete ||
        lstat(owed->path, &found) < 0 || found.st_ino != file->inode ||
        (uint64_t)found.st_size != file->size || weir_mtime_ns(&found) != file->mtime_ns)
        return status;
    owed->ready = weir_strdup(weir_rows_text(rows, 0, 0));
    return WEIR_OK;
}

/* What was written is what is mirrored from now on: the next pass need not fetch it, and no scan sees a new
 * file. */
static enum weir_status adopt(struct owed *owed, const struct s3_versions *versions,
                              struct weir_error *err)
{
    const struct dataset *dataset;
    struct stat found;

    for (size_t i = 0; i < versions->count; i++) {
        const struct s3_version *version = &versions->at[i];

        if (!version->is_latest || !version->etag || strcmp(version->etag, owed->etag) != 0 ||
            weir_str_equal(owed->ready, owed->etag) || !owed->ready ||
            lstat(owed->path, &found) < 0)
            continue;
        dataset = storage_catalog_at(owed->eraser->store->catalog, owed->dataset);
        s3_ranges_forget(owed->eraser->from->objects, dataset,
                         owed->key + strlen(owed->remote.prefix));
        storage_mirror_wrote(owed->eraser->mirrors, dataset, owed->key);
        return DB_RUN(owed->eraser->store->db, Q_object_put, NULL, err, DB_I64(owed->dataset),
                      DB_BYTES(weir_bytes_of(owed->key)), DB_TEXT(owed->etag),
                      DB_I64(found.st_size), DB_I64(version->modified_us));
    }
    return WEIR_OK;
}

static enum weir_status look(void *owner, const struct s3_versions *versions,
                             struct s3_aim *ret_aim, struct weir_error *err)
{
    struct owed *owed = owner;
    enum weir_status status = owed->is_rewrite ? find_ready(owed, err) : WEIR_OK;

    if (status == WEIR_OK && owed->is_rewrite)
        status = adopt(owed, versions, err);
    *ret_aim = (struct s3_aim){.is_rewrite = owed->is_rewrite,
                               .was_live = owed->was_live,
                               .etag = owed->etag,
                               .ready = owed->ready};
    return status;
}

static enum weir_status wrote(void *owner, const char *etag, struct weir_error *err)
{
    struct owed *owed = owner;

    free(owed->etag);
    owed->etag = weir_strdup(etag);
    return DB_RUN(owed->eraser->store->db, Q_owed_written, NULL, err, DB_I64(owed->erasure),
                  DB_I64(owed->dataset), DB_BYTES(weir_bytes_of(owed->key)), DB_TEXT(etag));
}

static void on_rewritten(void *owner, enum s3_rewritten what, const char *why)
{
    static const struct s3_outcome OTHER = {S3_END_LATER,
                                            "another object was written there meanwhile"};
    struct owed *owed = owner;

    if (what == S3_REWRITTEN)
        s3_purge_prepared(owed->purge, NULL);
    else
        s3_purge_prepared(owed->purge, what == S3_REWRITTEN_OTHER
                                           ? &OTHER
                                           : &(struct s3_outcome){S3_END_SILENT, why});
}

static void prepare(void *owner, const char *etag)
{
    struct owed *owed = owner;
    struct stat found;
    bool is_there = lstat(owed->path, &found) == 0;
    const struct s3_rewrite_job job = {.remote = &owed->remote,
                                       .dataset = owed->dataset,
                                       .key = owed->key,
                                       .etag = etag,
                                       .size = is_there ? (uint64_t)found.st_size : 0};

    s3_rewrite_begin(owed->rewrite, &job, on_rewritten, owed);
}

static void begin(struct owed *owed, const struct weir_rows *row)
{
    const struct dataset *dataset;
    struct weir_bytes key = weir_rows_bytes(row, 0, 2);
    struct weir_error err;
    bool is_remote;

    owed->erasure = (uint64_t)weir_rows_i64(row, 0, 0);
    owed->dataset = (uint32_t)weir_rows_i64(row, 0, 1);
    owed->key = weir_strndup((const char *)key.at, key.size);
    owed->is_rewrite = weir_rows_bool(row, 0, 3);
    owed->was_live = weir_rows_bool(row, 0, 4);
    owed->etag = weir_strdup(weir_rows_text(row, 0, 5));
    owed->tries = (uint64_t)weir_rows_i64(row, 0, 6);
    dataset = storage_catalog_at(owed->eraser->store->catalog, owed->dataset);
    if (!dataset || !dataset->declaration->is_mirrored) {
        on_done(owed, &(struct s3_outcome){S3_END_REFUSED, "its dataset is no bucket any more"});
        return;
    }
    if (s3_remote_open(&dataset->declaration->s3, &owed->remote, &err) != WEIR_OK) {
        on_done(owed, &(struct s3_outcome){.end = S3_END_SILENT, .why = err.text});
        return;
    }
    is_remote = dataset->declaration->is_remote;
    owed->path = weir_format("%s/%s", dataset->root, owed->key + strlen(owed->remote.prefix));
    s3_purge_begin(owed->purge, &(struct s3_purge_job){
                                    .remote = &owed->remote,
                                    .key = owed->key,
                                    .path = is_remote ? s3_rewrite_path(owed->rewrite) : owed->path,
                                    .prepare = is_remote ? prepare : NULL,
                                    .look = look,
                                    .wrote = wrote,
                                    .done = on_done,
                                    .owner = owed});
}

void storage_owed_pump(struct owed *owed)
{
    WEIR_AUTO(weir_rows) rows = NULL;
    struct weir_error err;
    int64_t wait_ms;

    if (owed->erasure != 0)
        return;
    if (owed->eraser->store->is_stale ||
        DB_RUN(owed->eraser->store->db, Q_owed_next, &rows, &err) != WEIR_OK) {
        come_back(owed, DATABASE_MS);
        return;
    }
    if (weir_rows_count(rows) == 0 || weir_rows_i64(rows, 0, 7) == OWED_NOT_YET_US)
        return;
    wait_ms = storage_owed_wait_ms(weir_rows_i64(rows, 0, 7), weir_now_wall_us());
    if (wait_ms > 0)
        come_back(owed, wait_ms);
    else
        begin(owed, rows);
}

/* ---- what others ask ---- */

enum weir_status storage_owed_is_settled(struct eraser *eraser, struct open_erasure *erasure,
                                         bool *ret_settled, struct weir_error *err)
{
    WEIR_AUTO(weir_rows) rows = NULL;
    struct id_list numbers;
    enum weir_status status;

    *ret_settled = false;
    if (erasure->owing.asked == eraser->owed->settled + 1)
        return WEIR_OK;
    numbers = storage_open_erasure_numbers(erasure, 0, erasure->count);
    status = DB_RUN(eraser->store->db, Q_owed_fresh, &rows, err, DB_I64S(numbers.at, numbers.count),
                    DB_I64(OWED_TRIES));
    free(numbers.at);
    if (status != WEIR_OK)
        return status;
    *ret_settled = weir_rows_i64(rows, 0, 0) == 0;
    erasure->owing.asked = *ret_settled ? 0 : eraser->owed->settled + 1;
    return WEIR_OK;
}

/* ---- life ---- */

struct owed *storage_owed_new(struct eraser *eraser)
{
    struct owed *owed = weir_calloc(1, sizeof *owed);

    owed->eraser = eraser;
    owed->purge = s3_purge_new(eraser->store->loop);
    owed->rewrite = s3_rewrite_new(eraser->store);
    owed->late = s3_late_new(eraser->store);
    return owed;
}

void storage_owed_free(struct owed *owed)
{
    if (!owed)
        return;
    weir_loop_cancel(owed->eraser->store->loop, owed->timer);
    s3_purge_free(owed->purge);
    forget_object(owed);
    s3_rewrite_free(owed->rewrite);
    s3_late_free(owed->late);
    free(owed);
}
