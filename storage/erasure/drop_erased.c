/* Mirrored files with refused records of the erased: see drop_erased.h. */
#include "storage/erasure/drop_erased.h"

#include "core/base/memory.h"
#include "storage/catalog/guard.h"
#include "storage/objects/s3_sign.h"
#include "storage/sql/queries.h"

#include <stdlib.h>

enum { PATHS_PER_STEP = 64, REMARKS_BYTES = 16 << 10 };

enum weir_status storage_drop_erased_by_id(struct store *store,
                                           const struct erasure_record *erasure, bool *ret_by_id,
                                           struct weir_error *err)
{
    struct id_list numbers = storage_erasure_record_numbers(erasure, 0, erasure->count);
    WEIR_AUTO(weir_rows) rows = NULL;
    enum weir_status status =
        DB_RUN(store->db, Q_erasures_by_id, &rows, err, DB_I64S(numbers.at, numbers.count));

    free(numbers.at);
    *ret_by_id = status == WEIR_OK && weir_rows_bool(rows, 0, "by_id");
    return status;
}

/* ---- by names ---- */

/* As far as a hash tells: the record itself is asked before anything of it is overwritten. */
static bool is_erased(const struct store *store, const struct dataset *dataset, uint64_t hash)
{
    static const enum storage_hash_domain DOMAINS[] = {HASH_SUBJECT, HASH_KEY};

    for (size_t i = 0; i < WEIR_COUNT(DOMAINS); i++) {
        const struct key_name name = {.domain = DOMAINS[i], .hash = hash};

        if (storage_erased_names_have(&store->erased, dataset->number, &name))
            return true;
    }
    return false;
}

static bool has_erased(const struct store *store, const struct dataset *dataset,
                       struct weir_bytes packed)
{
    struct id_list hashes = {0};
    bool is_found = false;

    storage_id_list_unpack(packed, &hashes);
    for (size_t i = 0; !is_found && i < hashes.count; i++)
        is_found = is_erased(store, dataset, hashes.at[i]);
    free(hashes.at);
    return is_found;
}

enum weir_status storage_drop_erased_next(struct store *store, const struct dataset *dataset,
                                          bool is_any, struct weir_buf *path, bool *ret_found,
                                          struct weir_error *err)
{
    WEIR_AUTO(weir_rows) rows = NULL;
    enum weir_status status =
        DB_RUN(store->db, Q_refused_names_next, &rows, err, DB_I64(dataset->number),
               DB_BYTES(weir_buf_view(path)), DB_I64(PATHS_PER_STEP));

    *ret_found = false;
    if (status == WEIR_OK && weir_rows_count(rows) == 0)
        return WEIR_NOT_FOUND;
    for (size_t i = 0; status == WEIR_OK && !*ret_found && i < weir_rows_count(rows); i++) {
        struct weir_bytes next = weir_rows_bytes(rows, i, "path");

        weir_buf_clear(path);
        weir_buf_append(path, next.at, next.size);
        *ret_found = is_any || has_erased(store, dataset, weir_rows_bytes(rows, i, "hashes"));
    }
    return status;
}

/* ---- files that are one record ---- */

static bool is_erased_name(const struct store *store, const struct dataset *dataset,
                           const struct key_name *name)
{
    return storage_erased_names_have(&store->erased, dataset->number, name);
}

bool storage_drop_erased_has(struct eraser *eraser, struct erasure_record *erasure,
                             struct dataset *dataset, struct stored_file *file,
                             struct id_list *names)
{
    const struct store *store = eraser->store;
    const struct located found = {.dataset = dataset, .file = file, .length = file->size};
    const struct key_identity who = storage_scrub_identify(eraser, erasure, &found);
    const struct key_name *subject = who.has_subject ? &who.subject : NULL;

    if (subject != NULL)
        storage_id_list_add(names, subject->hash);
    if (who.has_key)
        storage_id_list_add(names, who.key.hash);
    return (subject != NULL && is_erased_name(store, dataset, subject)) ||
           (who.has_key &&
            (is_erased_name(store, dataset, &who.key) ||
             storage_dataset_blocked(
                 dataset, storage_guard_key(&store->secret, &who.key, subject)) != NULL));
}

/* ---- telling ---- */

/* Objects are named percent-encoded: a key may hold anything. */
static char *remark_on(const struct dataset *dataset, const char *path)
{
    const struct declaration *d = dataset->declaration;
    WEIR_AUTO_FREE char *key = weir_format("%s%s", d->s3.prefix, path);
    WEIR_AUTO_BUF encoded = {0};

    storage_s3_encode(key, true, &encoded);
    return weir_format("dataset '%s' mirrors s3://%s/%s: refused records or duplicates of who was "
                       "erased were overwritten in the mirror of the object '%s', which no erased "
                       "sample is in: that object still holds them; delete or replace it there",
                       d->name, d->s3.bucket, d->s3.prefix, weir_buf_text(&encoded));
}

enum weir_status storage_drop_erased_remark(struct eraser *eraser,
                                            const struct erasure_record *erasure,
                                            const struct dataset *dataset, const char *path,
                                            struct weir_error *err)
{
    WEIR_AUTO_FREE char *remark = remark_on(dataset, path);
    WEIR_AUTO_FREE char *more =
        weir_format("dataset '%s': the same is true of more objects", dataset->declaration->name);

    if (storage_mirror_rewrites(eraser->mirrors, dataset, path))
        return WEIR_OK;
    for (size_t i = 0; i < erasure->count; i++) {
        struct erase_request *request = erasure->requests[i];

        if (request->dataset != 0 && request->dataset != dataset->number)
            continue;
        storage_remark(&request->remarks, request->remarks.size < REMARKS_BYTES ? remark : more);
        request->is_remarked = true;
    }
    return storage_store_remarks(eraser->store, erasure->requests, erasure->count, err);
}
