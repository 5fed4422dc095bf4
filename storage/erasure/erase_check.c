/* Whether a verified erasure still holds: its samples are looked for where they were, by id and by position. */
#include "storage/erasure/erasing.h"
#include "storage/erasure/open_erasure.h"
#include "storage/intake/extent.h"
#include "storage/keys/key_identify.h"
#include "storage/queries.h"

#include "core/base/file.h"
#include "core/base/memory.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { SAMPLES_PER_ASK = 2048 };

/* ---- samples of the same people ---- */

/* The hash may be another's by chance: the record says whose it is. */
static enum weir_status count_named(struct storage *storage, const struct open_erasure *erasure,
                                    const struct id_list *ids, uint64_t *ret_count,
                                    struct weir_error *err)
{
    WEIR_AUTO(key_identifier)
    identifier = storage_key_identifier_new(storage->files, &storage->secret);
    enum weir_status status = WEIR_OK;

    for (size_t i = 0; status == WEIR_OK && i < ids->count && i < SAMPLES_PER_ASK; i++) {
        struct key_identity identity;
        struct located found;

        status = storage_find(storage, ids->at[i], &found, err);
        if (status != WEIR_OK || found.state != WEIR_SAMPLE_LIVE)
            continue;
        identity = storage_key_identify(identifier, &found);
        *ret_count +=
            (identity.has_subject && storage_key_names_have(&erasure->names, &identity.subject)) ||
            (identity.has_key && storage_key_names_have(&erasure->names, &identity.key));
    }
    return status;
}

static enum weir_status count_returned(struct storage *storage, const struct weir_rows *row,
                                       uint64_t *ret_count, struct weir_error *err)
{
    struct open_erasure *erasure = weir_calloc(1, sizeof *erasure);
    struct id_list ids = {0};
    enum weir_status status = storage_open_erasure_names(
        weir_rows_bytes(row, 0, 4), weir_rows_bytes(row, 0, 3), &erasure->names, err);

    erasure->dataset = (uint32_t)weir_rows_i64(row, 0, 2);
    storage_open_erasure_list(erasure);
    if (status == WEIR_OK)
        status = storage_resolve(storage, erasure, &ids, err);
    if (status == WEIR_OK)
        status = count_named(storage, erasure, &ids, ret_count, err);
    free(ids.at);
    storage_open_erasure_free(erasure);
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

/* Whether the bytes at its place are those that were erased, whatever else the file has become. */
static bool is_what_was_erased(const struct storage *storage, const struct located *found,
                               struct weir_bytes content)
{
    const struct declaration *d = found->dataset->declaration;

    if (!d->format->is_one_sample)
        return storage_dataset_blocked(found->dataset, storage_scrub_hash(storage, found, content));
    return d->on_erase == ON_ERASE_UNLINK || !is_overwritten(d, content);
}

static void look_at_bytes(const struct storage *storage, const struct located *found,
                          struct msg_erase_checked *answer)
{
    WEIR_AUTO_FREE char *path = storage_dataset_path(found->dataset, found->file);
    WEIR_AUTO_FD int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
    WEIR_AUTO_BUF content = {0};
    struct weir_error err;
    struct stat now;

    if (fd < 0) {
        answer->unseen += errno != ENOENT && errno != ENOTDIR && errno != ELOOP;
        return;
    }
    if (fstat(fd, &now) < 0 ||
        (now.st_ino != found->file->inode && found->dataset->declaration->format->is_one_sample))
        return; /* another file of that name */
    if (storage_range_read(fd, (struct format_range){found->offset, found->length}, &content,
                           &err) == WEIR_OK)
        answer->present += is_what_was_erased(storage, found, weir_buf_view(&content));
}

static enum weir_status look_at(struct storage *storage, uint64_t id,
                                struct msg_erase_checked *answer, struct weir_error *err)
{
    struct located found;
    enum weir_status status = storage_find(storage, id, &found, err);

    if (status != WEIR_OK)
        return status;
    answer->checked++;
    answer->readable += found.state != WEIR_SAMPLE_ERASED;
    if (storage_scrub_has_bytes(&found))
        look_at_bytes(storage, &found, answer);
    return WEIR_OK;
}

/* ---- some of them ---- */

static enum weir_status look_at_some(struct storage *storage, const struct msg_erase_check *asked,
                                     struct msg_erase_checked *answer, struct weir_error *err)
{
    WEIR_AUTO(weir_rows) rows = NULL;
    struct id_list ids = {0};
    enum weir_status status =
        DB_RUN(storage->db, Q_erasure_some, &rows, err, DB_I64(asked->erasure),
               DB_I64(asked->after), DB_I64(SAMPLES_PER_ASK));

    if (status == WEIR_OK)
        storage_id_list_unpack(weir_rows_bytes(rows, 0, 0), &ids);
    for (size_t i = 0; status == WEIR_OK && i < ids.count; i++)
        status = look_at(storage, ids.at[i], answer, err);
    free(ids.at);
    return status;
}

enum weir_status storage_erase_check(struct storage *storage, const struct msg_erase_check *asked,
                                     struct msg_erase_checked *answer, struct weir_error *err)
{
    WEIR_AUTO(weir_rows) row = NULL;
    enum weir_status status = storage_ready(storage, err);

    if (status == WEIR_OK)
        status = DB_RUN(storage->db, Q_erasure_names, &row, err, DB_I64(asked->erasure));
    if (status != WEIR_OK)
        return status;
    if (weir_rows_count(row) == 0 || strcmp(weir_rows_text(row, 0, 0), "verified") != 0)
        return weir_fail(err, WEIR_INVALID, "erasure %llu is not verified yet",
                         (unsigned long long)asked->erasure);
    *answer = (struct msg_erase_checked){.samples = (uint64_t)weir_rows_i64(row, 0, 1),
                                         .checked = asked->after};
    if (asked->after == 0)
        status = count_returned(storage, row, &answer->returned, err);
    if (status != WEIR_OK || asked->after >= answer->samples)
        return status;
    return look_at_some(storage, asked, answer, err);
}
