/* Adds an erasure's pending writes, and reports which are left: see s3_pending.h. */
#include "storage/erasure/s3_pending.h"

#include "core/base/memory.h"
#include "storage/erasure/s3_pending_row.h"
#include "storage/files/sidecar.h"
#include "storage/objects/s3_sign.h"
#include "storage/sql/queries.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

enum { IDS_PER_STEP = 1024, NAMES_MAX = 32 };

/* Live files first: an object that is both what is mirrored and what was before it counts as the former. */
enum pass { PASS_LIVE, PASS_DEAD, PASS_END };

/* ---- planning ---- */

/* The ETag under which this very file was mirrored, or "". */
static enum weir_status find_etag(struct store *store, const struct located *found, const char *key,
                                  bool is_beside, struct weir_buf *etag, struct weir_error *err)
{
    const struct stored_file *file = found->file;
    WEIR_AUTO(weir_rows) rows = NULL;
    enum weir_status status = DB_RUN(store->db, Q_object_get, &rows, err,
                                     DB_I64(found->dataset->number), DB_BYTES(weir_bytes_of(key)));

    if (status != WEIR_OK || weir_rows_count(rows) == 0)
        return status;
    if (is_beside || ((uint64_t)weir_rows_i64(rows, 0, "size") == file->size &&
                      weir_rows_i64(rows, 0, "modified_us") == file->mtime_ns / 1000))
        weir_buf_append_text(etag, weir_rows_text(rows, 0, "etag"));
    return WEIR_OK;
}

static enum weir_status add_pending(struct store *store, uint64_t request,
                                    const struct located *found, const char *path,
                                    struct weir_error *err)
{
    const struct declaration *d = found->dataset->declaration;
    bool is_rewrite = d->on_erase != ON_ERASE_UNLINK;
    WEIR_AUTO_FREE char *key = weir_format("%s%s", d->s3.prefix, path);
    WEIR_AUTO_BUF etag = {0};
    enum weir_status status = WEIR_OK;

    if (!is_rewrite)
        status = find_etag(store, found, key, path != found->file->path, &etag, err);
    return status != WEIR_OK ? status
                             : DB_RUN(store->db, Q_owed_add, NULL, err, DB_I64(request),
                                      DB_I64(found->dataset->number), DB_BYTES(weir_bytes_of(key)),
                                      DB_BOOL(is_rewrite), DB_BOOL(found->file->state == FILE_LIVE),
                                      DB_TEXT(weir_buf_text(&etag)), DB_I64(PENDING_NOT_YET_US));
}

/* Plans a sample's object, and the one beside it. Samples of one object follow each other. */
static enum weir_status plan_one(struct store *store, struct erasure_record *erasure, uint64_t id,
                                 struct weir_error *err)
{
    struct located found;
    WEIR_AUTO_FREE char *beside = NULL;
    const struct declaration *d;
    uint64_t request = storage_page_row(&erasure->page, id)->request->number;
    enum weir_status status = storage_find(store, id, &found, err);

    d = status == WEIR_OK && found.dataset != NULL ? found.dataset->declaration : NULL;
    if (d == NULL || !d->is_mirrored || found.file == NULL || found.file->path == NULL ||
        (found.file->state == FILE_LIVE) != (erasure->pending_progress.pass == PASS_LIVE) ||
        (erasure->pending_progress.request == request &&
         erasure->pending_progress.dataset == found.dataset->number &&
         erasure->pending_progress.planned == storage_file_number(found.file)))
        return status;
    erasure->pending_progress.request = request;
    erasure->pending_progress.dataset = found.dataset->number;
    erasure->pending_progress.planned = storage_file_number(found.file);
    erasure->pending_progress.is_any = true;
    status = add_pending(store, request, &found, found.file->path, err);
    if (status != WEIR_OK || !d->wants_sidecar || d->on_erase != ON_ERASE_UNLINK)
        return status;
    beside = storage_sidecar_path(found.dataset, found.file->path);
    return add_pending(store, request, &found, beside, err);
}

static bool has_buckets(const struct store *store)
{
    for (size_t i = 0; i < store->catalog->count; i++) {
        if (store->catalog->datasets[i]->declaration->is_mirrored)
            return true;
    }
    return false;
}

static enum weir_status plan_some(struct store *store, struct erasure_record *erasure,
                                  struct weir_error *err)
{
    const struct id_list *ids = &erasure->page.ids;
    struct pending_progress *pending_progress = &erasure->pending_progress;
    enum weir_status status = weir_db_begin(store->db, err);

    for (size_t i = 0; status == WEIR_OK && i < IDS_PER_STEP && pending_progress->at < ids->count;
         i++)
        status = plan_one(store, erasure, ids->at[pending_progress->at++], err);
    if (status == WEIR_OK)
        status = weir_db_commit(store->db, err);
    if (status != WEIR_OK)
        weir_db_rollback(store->db);
    return status;
}

enum weir_status storage_pending_plan(struct store *store, struct erasure_record *erasure,
                                      bool *ret_done, struct weir_error *err)
{
    struct pending_progress *pending_progress = &erasure->pending_progress;
    enum weir_status status;

    *ret_done = !has_buckets(store);
    if (*ret_done)
        return WEIR_OK;
    status = plan_some(store, erasure, err);
    if (status != WEIR_OK || pending_progress->at < erasure->page.ids.count)
        return status;
    pending_progress->request = 0;
    pending_progress->at = 0;
    pending_progress->pass++;
    *ret_done = pending_progress->pass == PASS_END;
    return WEIR_OK;
}

enum weir_status storage_pending_release(struct eraser *eraser, struct erasure_record *erasure,
                                         struct weir_error *err)
{
    struct id_list numbers = storage_erasure_record_numbers(erasure, 0, erasure->count);
    WEIR_AUTO(weir_rows) rows = NULL;
    enum weir_status status = WEIR_OK;

    if (has_buckets(eraser->store))
        status = DB_RUN(eraser->store->db, Q_owed_release, &rows, err,
                        DB_I64S(numbers.at, numbers.count), DB_I64(PENDING_NOT_YET_US));
    free(numbers.at);
    if (status != WEIR_OK)
        return status;
    erasure->pending_progress.is_due = true;
    erasure->pending_progress.is_any = rows != NULL && weir_rows_i64(rows, 0, "count") > 0;
    if (erasure->pending_progress.is_any)
        storage_pending_pump(eraser->pending);
    return WEIR_OK;
}

/* ---- telling ---- */

/* Objects are named percent-encoded: a key may hold anything. */
static void remark_object(const struct dataset *dataset, struct erase_request *request,
                          const struct weir_rows *rows, size_t row)
{
    const struct declaration *d = dataset->declaration;
    struct weir_bytes bytes = weir_rows_bytes(rows, row, "key");
    WEIR_AUTO_FREE char *key = weir_strndup((const char *)bytes.at, bytes.size);
    bool is_left = weir_rows_bool(rows, row, "is_done");
    WEIR_AUTO_BUF encoded = {0};
    WEIR_AUTO_FREE char *remark = NULL;

    storage_s3_encode(key, true, &encoded);
    remark = weir_format(
        "dataset '%s' mirrors s3://%s/%s: the object '%s' or a version of it still was there when "
        "this was written: %s; %s",
        d->name, d->s3.bucket, d->s3.prefix, weir_buf_text(&encoded),
        weir_rows_text(rows, row, "problem"),
        is_left ? "look at it, and delete there what is the person's"
                : "Weir tries again until it is done, which weir erase status tells");
    storage_remark(&request->remarks, remark);
}

static enum weir_status remark_on(struct store *store, struct erase_request *request,
                                  struct weir_error *err)
{
    WEIR_AUTO(weir_rows) rows = NULL;
    WEIR_AUTO_FREE char *more = NULL;
    enum weir_status status =
        DB_RUN(store->db, Q_owed_left, &rows, err, DB_I64(request->number), DB_I64(NAMES_MAX + 1));

    if (status != WEIR_OK)
        return status;
    for (size_t i = 0; i < weir_rows_count(rows) && i < NAMES_MAX; i++)
        remark_object(
            storage_catalog_at(store->catalog, (uint64_t)weir_rows_i64(rows, i, "dataset")),
            request, rows, i);
    if (weir_rows_count(rows) <= NAMES_MAX)
        return WEIR_OK;
    more = weir_format("the same is true of %" PRId64 " more objects",
                       weir_rows_i64(rows, 0, "total") - NAMES_MAX);
    storage_remark(&request->remarks, more);
    return WEIR_OK;
}

static enum weir_status store_remarks(struct store *store, const struct erase_request *request,
                                      struct weir_error *err)
{
    const uint64_t start = 0, size = request->remarks.size;

    return DB_RUN(store->db, Q_erasure_remarks, NULL, err,
                  DB_BYTES(weir_bytes(request->remarks.at, request->remarks.size)),
                  DB_I64S(&request->number, 1), DB_I64S(&start, 1), DB_I64S(&size, 1));
}

enum weir_status storage_pending_remark(struct store *store, const struct erasure_record *erasure,
                                        const struct id_list *numbers, struct weir_error *err)
{
    WEIR_AUTO(weir_rows) rows = NULL;
    enum weir_status status =
        DB_RUN(store->db, Q_owed_left_of, &rows, err, DB_I64S(numbers->at, numbers->count));

    for (size_t i = 0; status == WEIR_OK && i < weir_rows_count(rows); i++) {
        struct erase_request *request =
            storage_erasure_record_find(erasure, (uint64_t)weir_rows_i64(rows, i, "erasure"));

        status = remark_on(store, request, err);
        if (status == WEIR_OK)
            status = store_remarks(store, request, err);
    }
    return status;
}

enum weir_status storage_pending_troubles(struct store *store, struct weir_arena *arena,
                                          struct pending_troubles *ret_troubles,
                                          struct weir_error *err)
{
    WEIR_AUTO(weir_rows) rows = NULL;
    enum weir_status status = DB_RUN(store->db, Q_owed_troubles, &rows, err);

    if (status != WEIR_OK)
        return status;
    ret_troubles->count = weir_rows_count(rows);
    ret_troubles->at =
        weir_arena_alloc(arena, (ret_troubles->count + 1) * sizeof(*ret_troubles->at));
    for (size_t i = 0; i < ret_troubles->count; i++)
        ret_troubles->at[i] = (struct pending_trouble){
            .erasure = (uint64_t)weir_rows_i64(rows, i, "erasure"),
            .text = weir_arena_format(
                arena,
                "what was erased is still in buckets (objects: %" PRId64 "): %s; "
                "tried again at least every hour",
                weir_rows_i64(rows, i, "count"), weir_rows_text(rows, i, "problem"))};
    return WEIR_OK;
}
