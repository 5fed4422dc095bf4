/* The check that a verified erasure still holds: its samples are looked for where they were, by id and by position. */
#include "storage/catalog/guard.h"
#include "storage/erasure/erasure_record.h"
#include "storage/erasure/erasure_steps.h"
#include "storage/files/extent.h"
#include "storage/objects/s3_ranges.h"
#include "storage/records/key_identify.h"
#include "storage/sql/queries.h"

#include "core/base/file.h"
#include "core/base/memory.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { SAMPLES_PER_REQUEST = 2048, BUCKET_PATIENCE_MS = 5000 };

/* ---- samples of the same people ---- */

/* The hash may be another's by chance: the record says whose it is. */
static enum weir_status count_named(struct eraser *eraser, const struct erase_request *erasure,
                                    const struct id_list *ids, uint64_t *ret_count,
                                    struct weir_error *err)
{
    WEIR_AUTO(key_identifier) identifier = storage_key_identifier_new(eraser->from);
    enum weir_status status = WEIR_OK;

    for (size_t i = 0; status == WEIR_OK && i < ids->count && i < SAMPLES_PER_REQUEST; i++) {
        struct key_identity identity;
        struct located found;

        status = storage_find(eraser->store, ids->at[i], &found, err);
        if (status != WEIR_OK || found.state != WEIR_SAMPLE_LIVE)
            continue;
        identity = storage_key_identify(identifier, &found);
        *ret_count +=
            (identity.has_subject && storage_key_names_have(&erasure->names, &identity.subject)) ||
            (identity.has_key && storage_key_names_have(&erasure->names, &identity.key));
    }
    return status;
}

static enum weir_status count_returned(struct eraser *eraser, const struct weir_rows *row,
                                       uint64_t *ret_count, struct weir_error *err)
{
    struct erase_request *erasure = weir_calloc(1, sizeof(*erasure));
    struct id_list ids = {0};
    enum weir_status status =
        storage_erasure_record_names(weir_rows_bytes(row, 0, "proofs"),
                                     weir_rows_bytes(row, 0, "subjects"), &erasure->names, err);

    erasure->dataset = (uint32_t)weir_rows_i64(row, 0, "dataset");
    storage_erasure_record_list(erasure);
    if (status == WEIR_OK)
        status = storage_resolve(eraser->store, erasure, SAMPLES_PER_REQUEST, &ids, err);
    if (status == WEIR_OK)
        status = count_named(eraser, erasure, &ids, ret_count, err);
    free(ids.at);
    storage_erase_request_free(erasure);
    return status;
}

/* ---- one sample ---- */

static bool is_overwritten(const struct declaration *declaration, struct weir_bytes content)
{
    WEIR_AUTO_BUF erased = {0};

    weir_buf_append(&erased, content.at, content.size);
    storage_extent_erase(declaration, weir_bytes(NULL, 0), erased.at, erased.size);
    return weir_bytes_equal(weir_buf_view(&erased), content);
}

/* True when the bytes at its place are those that were erased, whatever else the file has become. */
static bool is_what_was_erased(const struct store *store, const struct located *found,
                               struct weir_bytes head, struct weir_bytes content)
{
    const struct declaration *d = found->dataset->declaration;

    if (!d->format->is_one_sample)
        return storage_guard_blocked(&store->secret, found->dataset, found->file->path, head,
                                     content);
    return d->on_erase == ON_ERASE_UNLINK || !is_overwritten(d, content);
}

/* Content of the bucket there now, if it still is the object that is known. */
static void look_at_object(struct eraser *eraser, const struct located *found,
                           struct msg_erase_checked *answer)
{
    const struct s3_span span = {.dataset = found->dataset,
                                 .file = found->file,
                                 .offset = found->offset,
                                 .length = found->length};
    WEIR_AUTO_BUF content = {0};

    weir_buf_reserve(&content, found->length + 1);
    content.size = found->length;
    if (storage_s3_ranges_read(eraser->from->objects, &span, content.at))
        answer->present +=
            is_what_was_erased(eraser->store, found, weir_bytes(NULL, 0), weir_buf_view(&content));
    else
        answer->unseen += eraser->check.fetch.why != NULL;
}

static void look_at_bytes(const struct store *store, const struct located *found,
                          struct msg_erase_checked *answer)
{
    WEIR_AUTO_FREE char *path = storage_dataset_path(found->dataset, found->file);
    WEIR_AUTO_FD int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
    WEIR_AUTO_BUF content = {0};
    WEIR_AUTO_BUF head = {0};
    struct weir_error err;
    struct stat now;

    if (fd < 0) {
        answer->unseen += errno != ENOENT && errno != ENOTDIR && errno != ELOOP;
        return;
    }
    if (fstat(fd, &now) < 0 ||
        (now.st_ino != found->file->inode && found->dataset->declaration->format->is_one_sample))
        return; /* another file of that name */
    if (found->dataset->declaration->format->canonical != NULL &&
        storage_head_read(found->dataset->declaration->format, fd, (uint64_t)now.st_size, &head,
                          &err) != WEIR_OK)
        weir_buf_clear(&head);
    if (storage_range_read(fd, (struct format_range){found->offset, found->length}, &content,
                           &err) == WEIR_OK)
        answer->present +=
            is_what_was_erased(store, found, weir_buf_view(&head), weir_buf_view(&content));
}

static enum weir_status look_at(struct eraser *eraser, uint64_t id,
                                struct msg_erase_checked *answer, struct weir_error *err)
{
    struct located found;
    enum weir_status status = storage_find(eraser->store, id, &found, err);

    if (status != WEIR_OK)
        return status;
    answer->checked++;
    if (found.dataset == NULL) /* removed with all that was of it */
        return WEIR_OK;
    answer->readable += found.state != WEIR_SAMPLE_ERASED;
    if (!storage_scrub_has_bytes(&found))
        return WEIR_OK;
    if (found.dataset->declaration->is_mirrored)
        look_at_object(eraser, &found, answer);
    if (!found.dataset->declaration->is_remote)
        look_at_bytes(eraser->store, &found, answer);
    return WEIR_OK;
}

/* ---- some of them ---- */

static bool has_bucket(const struct store *store, const struct id_list *ids)
{
    uint32_t last = 0;

    for (size_t i = 0; i < ids->count; i++) {
        uint32_t number = weir_sample_dataset(ids->at[i]);
        const struct dataset *dataset =
            number != last ? storage_catalog_at(store->catalog, number) : NULL;

        if (dataset != NULL && dataset->declaration->is_mirrored)
            return true;
        last = number;
    }
    return false;
}

/* UNAVAILABLE, which is asked again, until what lies in buckets is here: it is fetched again for this. */
static enum weir_status fetch_some(struct eraser *eraser, const struct msg_erase_check *asked,
                                   struct id_list *ids, struct weir_error *err)
{
    struct erase_check *check = &eraser->check;
    const struct id_fetching fetching = {.ids = ids->at,
                                         .count = ids->count,
                                         .at = 0,
                                         .wants_mirrored = true,
                                         .patience_ms = BUCKET_PATIENCE_MS};

    if (check->look != asked->look)
        storage_id_fetch_fini(&check->fetch);
    check->look = asked->look;
    if (storage_id_fetch(eraser->store, eraser->from->objects, &check->fetch, &fetching)) {
        ids->count = has_bucket(eraser->store, ids) ? check->fetch.upto : ids->count;
        return WEIR_OK;
    }
    return weir_fail(err, WEIR_UNAVAILABLE, "what is in the bucket is on its way");
}

static enum weir_status look_at_some(struct eraser *eraser, const struct msg_erase_check *asked,
                                     struct msg_erase_checked *answer, struct weir_error *err)
{
    WEIR_AUTO(weir_rows) rows = NULL;
    struct id_list ids = {0};
    enum weir_status status =
        DB_RUN(eraser->store->db, Q_erasure_some, &rows, err, DB_I64(asked->erasure),
               DB_I64(asked->after), DB_I64(SAMPLES_PER_REQUEST));

    if (status == WEIR_OK)
        storage_id_list_unpack(weir_rows_bytes(rows, 0, "ids"), &ids);
    if (status == WEIR_OK)
        status = fetch_some(eraser, asked, &ids, err);
    for (size_t i = 0; status == WEIR_OK && i < ids.count; i++)
        status = look_at(eraser, ids.at[i], answer, err);
    if (status == WEIR_OK)
        storage_id_fetch_fini(&eraser->check.fetch);
    free(ids.at);
    return status;
}

enum weir_status storage_erase_check(struct eraser *eraser, const struct msg_erase_check *asked,
                                     struct msg_erase_checked *answer, struct weir_error *err)
{
    WEIR_AUTO(weir_rows) row = NULL;
    enum weir_status status = storage_ready(eraser->store, err);

    if (status == WEIR_OK)
        status = DB_RUN(eraser->store->db, Q_erasure_names, &row, err, DB_I64(asked->erasure));
    if (status != WEIR_OK)
        return status;
    if (weir_rows_count(row) == 0 || strcmp(weir_rows_text(row, 0, "state"), "verified") != 0)
        return weir_fail(err, WEIR_INVALID, "erasure %llu is not verified yet",
                         (unsigned long long)asked->erasure);
    *answer = (struct msg_erase_checked){.samples = (uint64_t)weir_rows_i64(row, 0, "samples"),
                                         .checked = asked->after};
    if (asked->after == 0)
        status = count_returned(eraser, row, &answer->returned, err);
    if (status != WEIR_OK || asked->after >= answer->samples)
        return status;
    return look_at_some(eraser, asked, answer, err);
}
