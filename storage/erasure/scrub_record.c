/* What Postgres holds of erased samples: time, label, subject hash, path, complaints. */
#include "storage/erasure/open_erasure.h"

#include "core/base/fault.h"
#include "core/base/memory.h"
#include "core/wire/column.h"
#include "storage/catalog/tombstones.h"
#include "storage/keys/key_store.h"
#include "storage/queries.h"

#include <stdlib.h>
#include <string.h>

enum { CHUNKS_A_TURN = 16 };

/* ---- columns ---- */

/* Erased rows take the smallest value of the others: it tells nothing, and packs as well as before. */
static void blank_out(const struct dataset *dataset, const struct chunk *chunk,
                      const struct weir_column_view *column, int64_t *blanked)
{
    bool has_least = false;
    int64_t least = 0;

    weir_column_range(column, 0, chunk->count, blanked);
    for (uint32_t i = 0; i < chunk->count; i++) {
        if (storage_dataset_is_erased(dataset, chunk->block, chunk->first_row + i))
            continue;
        least = has_least && least < blanked[i] ? least : blanked[i];
        has_least = true;
    }
    for (uint32_t i = 0; i < chunk->count; i++) {
        if (storage_dataset_is_erased(dataset, chunk->block, chunk->first_row + i))
            blanked[i] = least;
    }
}

/* Vectors of erased rows become zeros. */
static void blank_vectors(const struct dataset *dataset, const struct chunk *chunk,
                          struct weir_buf *blanked)
{
    size_t bytes = storage_declaration_value_bytes(dataset->declaration);

    weir_buf_append(blanked, chunk->values.at, chunk->values.size);
    if (blanked->at == NULL) /* labels are no vectors */
        return;
    for (uint32_t i = 0; i < chunk->count; i++) {
        if (storage_dataset_is_erased(dataset, chunk->block, chunk->first_row + i))
            memset(blanked->at + i * bytes, 0, bytes);
    }
}

static enum weir_status blank_chunk(struct storage *storage, const struct dataset *dataset,
                                    const struct chunk_ref *ref, struct weir_error *err)
{
    const struct chunk *chunk;
    WEIR_AUTO_FREE int64_t *values = weir_calloc(ref->count, sizeof *values);
    WEIR_AUTO_BUF times = {0};
    WEIR_AUTO_BUF labels = {0};
    WEIR_AUTO_BUF vectors = {0};
    int64_t min, max;
    enum weir_status status =
        storage_chunk_cache_get(storage->cache, storage->db, dataset, ref, &chunk, err);

    if (status != WEIR_OK)
        return status;
    blank_out(dataset, chunk, &chunk->labels, values);
    weir_column_pack(values, ref->count, &labels);
    blank_out(dataset, chunk, &chunk->times, values);
    weir_column_pack(values, ref->count, &times);
    blank_vectors(dataset, chunk, &vectors);
    min = max = values[0];
    for (uint32_t i = 1; i < ref->count; i++) {
        min = values[i] < min ? values[i] : min;
        max = values[i] > max ? values[i] : max;
    }
    return DB_RUN(storage->db, Q_chunk_labels_put, NULL, err, DB_I64(dataset->number),
                  DB_I64(ref->block), DB_I64(ref->first_row), DB_BYTES(weir_buf_view(&times)),
                  DB_BYTES(weir_buf_view(&labels)), DB_I64(min), DB_I64(max),
                  DB_BYTES(weir_buf_view(&vectors)));
}

static enum weir_status blank_some(struct storage *storage, struct open_erasure *erasure,
                                   struct weir_error *err)
{
    const struct chunk_ref *done = NULL;
    enum weir_status status = WEIR_OK;

    for (size_t chunks = 0; status == WEIR_OK && erasure->blanked < erasure->ids.count;
         erasure->blanked++) {
        uint64_t id = erasure->ids.at[erasure->blanked];
        const struct dataset *dataset =
            storage_catalog_at(storage->catalog, weir_sample_dataset(id));
        const struct chunk_ref *ref =
            dataset ? storage_dataset_chunk(dataset, weir_sample_block(id), weir_sample_row(id))
                    : NULL;

        if (!ref || ref == done)
            continue;
        if (chunks++ == CHUNKS_A_TURN)
            return WEIR_OK;
        status = blank_chunk(storage, dataset, ref, err);
        done = ref;
    }
    return status;
}

enum weir_status storage_scrub_columns(struct storage *storage, struct open_erasure *erasure,
                                       bool *ret_done, struct weir_error *err)
{
    enum weir_status status;

    *ret_done = erasure->blanked == erasure->ids.count;
    if (*ret_done)
        return WEIR_OK;
    status = weir_db_begin(storage->db, err);
    if (status == WEIR_OK)
        status = blank_some(storage, erasure, err);
    if (status == WEIR_OK && weir_fault("storage.erase.columns"))
        status = weir_fail(err, WEIR_UNAVAILABLE, "fault storage.erase.columns");
    if (status == WEIR_OK)
        status = weir_db_commit(storage->db, err);
    if (status != WEIR_OK) {
        weir_db_rollback(storage->db);
        erasure->blanked = 0;
    }
    storage_chunk_cache_clear(storage->cache); /* what a merge of chunks reads next must be blank */
    return status;
}

/* ---- subjects ---- */

/* The places (block << 16 | row) of the erased samples of one dataset, ascending as the ids are. */
static void places_in(const struct open_erasure *erasure, const struct dataset *dataset,
                      struct id_list *places)
{
    for (size_t i = 0; i < erasure->ids.count; i++) {
        uint64_t id = erasure->ids.at[i];

        if (weir_sample_dataset(id) == dataset->number)
            storage_id_list_add(places, id ^ storage_dataset_id(dataset, 0));
    }
}

static enum weir_status thin_runs(struct storage *storage, const struct open_erasure *erasure,
                                  struct dataset *dataset, struct weir_error *err)
{
    struct id_list places = {0};
    const struct key_erasure what = {.ids = &places,
                                     .hashes = erasure->hashes.count > 0 ? &erasure->hashes : NULL};
    enum weir_status status = WEIR_OK;

    places_in(erasure, dataset, &places);
    if (places.count > 0)
        status = storage_key_store_erase(storage->db, &dataset->subjects, &what, err);
    if (places.count > 0 && status == WEIR_OK)
        status = storage_key_store_erase(storage->db, &dataset->keys, &what, err);
    free(places.at);
    return status;
}

/* ---- files ---- */

static enum weir_status withdraw(struct storage *storage, struct dataset *dataset, const char *path,
                                 struct weir_error *err)
{
    WEIR_AUTO(weir_rows) rows = NULL;
    enum weir_status status =
        DB_RUN(storage->db, Q_quarantine_withdraw, &rows, err, DB_I64(dataset->number),
               DB_BYTES(weir_bytes_of(path)), DB_BOOL(true));

    if (status == WEIR_OK) {
        dataset->accounts.quarantined -= (uint64_t)weir_rows_i64(rows, 0, 0);
        dataset->accounts.blocked -= (uint64_t)weir_rows_i64(rows, 0, 1);
    }
    return status;
}

/* The name of a one-sample file may name its subject: only its keyed hash stays, in `blocked`. */
static enum weir_status forget_path(struct storage *storage, const struct located *found,
                                    struct weir_error *err)
{
    struct stored_file *file = found->file;
    enum weir_status status = WEIR_OK;

    if (!file || !file->path)
        return WEIR_OK;
    file->group->is_touched = true;
    if (!found->dataset->declaration->format->is_one_sample)
        return WEIR_OK;
    status = withdraw(storage, found->dataset, file->path, err);
    free(file->path);
    file->path = NULL;
    file->state = FILE_ERASED;
    file->prefix_hash = 0;
    storage_file_group_reorder(file->group);
    found->dataset->paths_dropped++;
    return status;
}

static enum weir_status write_groups(const struct dataset *dataset, struct weir_error *err)
{
    enum weir_status status = WEIR_OK;

    for (size_t i = 0; status == WEIR_OK && i < dataset->group_count; i++) {
        if (dataset->groups[i]->is_touched)
            status =
                storage_file_shelf_write(dataset->shelf, dataset->number, dataset->groups[i], err);
    }
    return status;
}

enum weir_status storage_scrub_rows(struct storage *storage, struct open_erasure *erasure,
                                    struct weir_error *err)
{
    enum weir_status status = WEIR_OK;

    for (size_t i = 0; status == WEIR_OK && i < erasure->ids.count; i++) {
        struct located found;

        status = storage_find(storage, erasure->ids.at[i], &found, err);
        if (status == WEIR_OK)
            status = forget_path(storage, &found, err);
    }
    for (size_t d = 0; status == WEIR_OK && erasure->ids.count > 0 && d < storage->catalog->count;
         d++) {
        struct dataset *dataset = storage->catalog->datasets[d];

        if (erasure->dataset != 0 && erasure->dataset != dataset->number)
            continue;
        status = thin_runs(storage, erasure, dataset, err);
        if (status == WEIR_OK)
            status = write_groups(dataset, err);
        if (status == WEIR_OK)
            status = storage_dataset_store(storage->db, dataset, dataset->sequence, err);
    }
    return status;
}
