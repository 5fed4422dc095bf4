/* Rows about erased samples: time, label, subject hash, path, complaints. */
#include "storage/chunks/key_merge.h"
#include "storage/erasure/erasure_record.h"

#include "core/base/clock.h"
#include "core/base/fault.h"
#include "core/base/memory.h"
#include "core/wire/column.h"
#include "storage/chunks/tombstones.h"
#include "storage/erasure/refused.h"
#include "storage/files/copy.h"
#include "storage/keys/key_store.h"
#include "storage/sql/queries.h"
#include "storage/sums/sum_rows.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

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

static enum weir_status blank_chunk(struct store *store, const struct erasure_record *erasure,
                                    struct dataset *dataset, const struct chunk_ref *ref,
                                    struct weir_error *err)
{
    const struct chunk *chunk;
    WEIR_AUTO_FREE int64_t *values = weir_calloc(ref->count, sizeof(*values));
    WEIR_AUTO_BUF times = {0};
    WEIR_AUTO_BUF labels = {0};
    WEIR_AUTO_BUF vectors = {0};
    int64_t min, max;
    enum weir_status status =
        storage_chunk_cache_get(store->cache, store->db, dataset, ref, &chunk, err);

    if (status == WEIR_OK)
        status = storage_scrub_touch_classes(store, erasure, dataset, chunk, err);
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
    return DB_RUN(store->db, Q_chunk_labels_put, NULL, err, DB_I64(dataset->number),
                  DB_I64(ref->block), DB_I64(ref->first_row), DB_BYTES(weir_buf_view(&times)),
                  DB_BYTES(weir_buf_view(&labels)), DB_I64(min), DB_I64(max),
                  DB_BYTES(weir_buf_view(&vectors)));
}

static const struct chunk_ref *chunk_of(const struct store *store, uint64_t id)
{
    const struct dataset *dataset = storage_catalog_at(store->catalog, weir_sample_dataset(id));

    return dataset != NULL
               ? storage_dataset_chunk(dataset, weir_sample_block(id), weir_sample_row(id))
               : NULL;
}

/* A chunk is made blank as a whole: later samples of it, of this page or another, have nothing left to do. */
static enum weir_status blank_some(struct store *store, struct erasure_record *erasure,
                                   struct weir_error *err)
{
    const struct erase_page *page = &erasure->page;
    int64_t until_ms = weir_now_ms() + ERASE_STEP_MS;
    enum weir_status status = WEIR_OK;

    while (status == WEIR_OK && erasure->round.at < page->ids.count && weir_now_ms() < until_ms) {
        uint64_t id = page->ids.at[erasure->round.at++];
        const struct chunk_ref *ref = chunk_of(store, id);
        uint64_t first =
            ref != NULL ? weir_sample_id(weir_sample_dataset(id), ref->block, ref->first_row) : 0;

        if (ref == NULL || (first == erasure->blanked && ref->count == erasure->blanked_rows))
            continue;
        status = blank_chunk(store, erasure,
                             storage_catalog_at(store->catalog, weir_sample_dataset(id)), ref, err);
        erasure->blanked = first;
        erasure->blanked_rows = ref->count;
    }
    return status;
}

static enum weir_status blank_in_transaction(struct store *store, struct erasure_record *erasure,
                                             struct weir_error *err)
{
    enum weir_status status = weir_db_begin(store->db, err);

    if (status == WEIR_OK)
        status = blank_some(store, erasure, err);
    if (status == WEIR_OK && weir_fault("storage.erase.columns"))
        status = weir_fail(err, WEIR_UNAVAILABLE, "fault storage.erase.columns");
    if (status == WEIR_OK)
        status = weir_db_commit(store->db, err);
    if (status != WEIR_OK)
        weir_db_rollback(store->db);
    storage_chunk_cache_clear(store->cache); /* what a merge of chunks reads next must be blank */
    return status;
}

/* ---- subjects ---- */

static bool is_erased(const void *owner, uint64_t place)
{
    return storage_dataset_is_erased(owner, (uint32_t)(place >> WEIR_ROW_BITS),
                                     weir_sample_row(place));
}

static enum weir_status thin_some(struct store *store, struct erasure_record *erasure,
                                  struct weir_error *err)
{
    struct run_walk *walk = &erasure->thinning;
    struct dataset *dataset =
        storage_catalog_at(store->catalog, erasure->datasets.at[walk->dataset]);
    const struct key_erasure what = {.is_erased = is_erased, .owner = dataset};
    bool is_through = !erasure->is_blind && erasure->hashes.count == 0;
    enum weir_status status = weir_db_begin(store->db, err);

    walk->runs.hashes = erasure->is_blind ? NULL : erasure->hashes.at;
    walk->runs.hash_count = erasure->hashes.count;
    if (status == WEIR_OK && !is_through)
        status = storage_key_store_erase(store->db,
                                         walk->kind == 0 ? &dataset->subjects : &dataset->keys,
                                         &what, &walk->runs, &is_through, err);
    if (status == WEIR_OK)
        status = weir_db_commit(store->db, err);
    if (status != WEIR_OK)
        weir_db_rollback(store->db);
    if (status != WEIR_OK || !is_through)
        return status;
    storage_key_walk_fini(&walk->runs);
    walk->dataset += walk->kind == 1;
    walk->kind = 1 - walk->kind;
    return WEIR_OK;
}

enum weir_status storage_scrub_runs(struct store *store, struct erasure_record *erasure,
                                    bool *ret_done, struct weir_error *err)
{
    const struct run_walk *walk = &erasure->thinning;
    int64_t until_ms = weir_now_ms() + ERASE_STEP_MS;
    enum weir_status status = WEIR_OK;

    if (walk->dataset == 0 && walk->kind == 0 && walk->runs.segments == NULL && walk->runs.run == 0)
        status = storage_key_merge_stop(store, err);
    while (status == WEIR_OK && walk->dataset < erasure->datasets.count && weir_now_ms() < until_ms)
        status = thin_some(store, erasure, err);
    *ret_done = status == WEIR_OK && walk->dataset == erasure->datasets.count;
    return status;
}

/* ---- files ---- */

static enum weir_status withdraw(struct store *store, struct dataset *dataset, const char *path,
                                 struct weir_error *err)
{
    WEIR_AUTO(weir_rows) rows = NULL;
    enum weir_status status =
        DB_RUN(store->db, Q_quarantine_withdraw, &rows, err, DB_I64(dataset->number),
               DB_BYTES(weir_bytes_of(path)), DB_BOOL(true));

    if (status == WEIR_OK) {
        dataset->accounts.quarantined -= (uint64_t)weir_rows_i64(rows, 0, "quarantined");
        dataset->accounts.blocked -= (uint64_t)weir_rows_i64(rows, 0, "blocked");
    }
    return status;
}

/* Only its keyed hash stays, in `blocked`. */
static enum weir_status forget_path(struct store *store, const struct located *found,
                                    struct weir_error *err)
{
    struct stored_file *file = found->file;
    enum weir_status status = withdraw(store, found->dataset, file->path, err);

    if (status == WEIR_OK)
        status = storage_sum_rows_drop(store->db, found->dataset->number, storage_file_number(file),
                                       err);
    free(file->path);
    file->path = NULL;
    file->state = FILE_ERASED;
    file->prefix_hash = 0;
    storage_file_group_reorder(file->group);
    found->dataset->paths_dropped++;
    return status;
}

/* The sample that stood in the way of the last file that was asked about says at once that it still does. */
static bool has_survivor(const struct erasure_record *erasure, const struct located *found)
{
    uint64_t id = erasure->survivor.id;

    return erasure->survivor.file == storage_file_number(found->file) &&
           weir_sample_dataset(id) == found->dataset->number &&
           !storage_dataset_is_erased(found->dataset, weir_sample_block(id), weir_sample_row(id));
}

/* The first sample of the file in the chunk that is not erased becomes the survivor; false: there is none. */
static bool find_survivor(struct erasure_record *erasure, const struct dataset *dataset,
                          const struct chunk *chunk, uint64_t file)
{
    for (uint32_t row = 0; row < chunk->count; row++) {
        if ((uint64_t)weir_column_at(&chunk->files, row) != file ||
            storage_dataset_is_erased(dataset, chunk->block, chunk->first_row + row))
            continue;
        erasure->survivor.file = file;
        erasure->survivor.id =
            weir_sample_id(dataset->number, chunk->block, chunk->first_row + row);
        return true;
    }
    return false;
}

/* False of a file that more samples may come from, too. */
static enum weir_status is_erased_whole(struct store *store, struct erasure_record *erasure,
                                        const struct located *found, bool *ret_erased,
                                        struct weir_error *err)
{
    const struct dataset *dataset = found->dataset;
    struct chunk_span span = storage_dataset_chunks_of(dataset, found->file);
    uint64_t number = storage_file_number(found->file);
    enum weir_status status = WEIR_OK;

    *ret_erased = found->file->is_complete && !has_survivor(erasure, found);
    for (size_t i = span.first; status == WEIR_OK && *ret_erased && i < span.end; i++) {
        const struct chunk *chunk;

        status = storage_chunk_cache_get(store->cache, store->db, dataset, &dataset->chunks[i],
                                         &chunk, err);
        if (status == WEIR_OK)
            *ret_erased = !find_survivor(erasure, dataset, chunk, number);
    }
    return status;
}

/* A copy of which nothing is left goes, and its name with it. */
static enum weir_status forget_copy(struct store *store, struct erasure_record *erasure,
                                    const struct located *found, struct weir_error *err)
{
    bool is_over = false;
    enum weir_status status = is_erased_whole(store, erasure, found, &is_over, err);

    if (status != WEIR_OK || !is_over)
        return status;
    storage_scrub_block_source(store, erasure, found);
    status = storage_scrub_store_blocked(store, erasure, err);
    storage_copy_remove(found->dataset, found->file->path);
    return status == WEIR_OK ? forget_path(store, found, err) : status;
}

/* The name of a file may name its subject. */
static enum weir_status forget_file(struct store *store, struct erasure_record *erasure,
                                    const struct located *found, struct weir_error *err)
{
    const struct declaration *d = found->dataset->declaration;

    if (found->file == NULL || found->file->path == NULL)
        return WEIR_OK;
    found->file->group->is_touched = true;
    if (d->format->is_one_sample)
        return forget_path(store, found, err);
    return d->is_copied && !d->is_pushed ? forget_copy(store, erasure, found, err) : WEIR_OK;
}

/* Others lie in the file, or it is not Weir's: a name that is a person's stays. */
static void remark_name(const struct store *store, struct erasure_record *erasure,
                        const struct located *found, uint64_t id)
{
    WEIR_AUTO_FREE char *remark = NULL;

    if (found->file == NULL || found->file->path == NULL ||
        found->dataset->declaration->is_pushed ||
        !storage_refused_is_named(store, found->dataset, found->file->path))
        return;
    remark =
        weir_format("file %" PRIu64 " of dataset '%s' has the name of a subject or key that was "
                    "erased: it holds other samples too, or is only referred to, so that the "
                    "name stays, in Postgres too, until the file is renamed or removed",
                    storage_file_number(found->file), found->dataset->name);
    storage_scrub_remark(erasure, id, remark);
}

enum weir_status storage_scrub_write_dataset(const struct dataset *dataset, struct weir_error *err)
{
    enum weir_status status = WEIR_OK;

    for (size_t i = 0; status == WEIR_OK && i < dataset->group_count; i++) {
        if (dataset->groups[i]->is_touched || dataset->groups[i]->is_ahead)
            status = storage_file_cache_write(dataset->file_cache, dataset->number,
                                              dataset->groups[i], err);
    }
    return status;
}

enum weir_status storage_scrub_write_groups(struct store *store,
                                            const struct erasure_record *erasure,
                                            struct weir_error *err)
{
    enum weir_status status = WEIR_OK;
    uint32_t last = 0;

    for (size_t i = 0; status == WEIR_OK && i < erasure->page.ids.count; i++) {
        uint32_t number = weir_sample_dataset(erasure->page.ids.at[i]);

        if (number != last)
            status = storage_scrub_write_dataset(storage_catalog_at(store->catalog, number), err);
        last = number;
    }
    return status;
}

static enum weir_status store_datasets(struct store *store, const struct erasure_record *erasure,
                                       struct weir_error *err)
{
    enum weir_status status = WEIR_OK;
    uint32_t last = 0;

    for (size_t i = 0; status == WEIR_OK && i < erasure->page.ids.count; i++) {
        const struct dataset *dataset =
            storage_catalog_at(store->catalog, weir_sample_dataset(erasure->page.ids.at[i]));

        if (dataset->number != last)
            status = storage_dataset_store(store->db, dataset, dataset->sequence, err);
        last = dataset->number;
    }
    return status;
}

static void note_datasets(struct erasure_record *erasure)
{
    for (size_t i = 0; i < erasure->page.ids.count; i++) {
        uint32_t number = weir_sample_dataset(erasure->page.ids.at[i]);

        if (!storage_id_list_has(&erasure->datasets, number)) {
            storage_id_list_add(&erasure->datasets, number);
            storage_id_list_sort(&erasure->datasets);
        }
    }
}

static enum weir_status forget_files(struct store *store, struct erasure_record *erasure,
                                     struct weir_error *err)
{
    const struct stored_file *last = NULL; /* compared, never followed */
    enum weir_status status = WEIR_OK;

    for (size_t i = 0; status == WEIR_OK && i < erasure->page.ids.count; i++) {
        struct located found;

        status = storage_find(store, erasure->page.ids.at[i], &found, err);
        if (status == WEIR_OK)
            status = forget_file(store, erasure, &found, err);
        if (status == WEIR_OK && found.file != NULL && found.file != last)
            remark_name(store, erasure, &found, erasure->page.ids.at[i]);
        last = found.file;
    }
    return status;
}

/* Other rows about the page. */
static enum weir_status end_page(struct store *store, struct erasure_record *erasure,
                                 struct weir_error *err)
{
    enum weir_status status = weir_db_begin(store->db, err);

    if (status == WEIR_OK)
        status = forget_files(store, erasure, err);
    if (status == WEIR_OK)
        status = storage_scrub_write_groups(store, erasure, err);
    if (status == WEIR_OK)
        status = store_datasets(store, erasure, err);
    if (status == WEIR_OK)
        status = storage_page_store_step(store, &erasure->page, PAGE_BLANK, err);
    if (status == WEIR_OK)
        status = weir_db_commit(store->db, err);
    if (status != WEIR_OK)
        weir_db_rollback(store->db);
    note_datasets(erasure);
    storage_page_fini(&erasure->page);
    return status;
}

enum weir_status storage_scrub_records(struct store *store, struct erasure_record *erasure,
                                       bool *ret_done, struct weir_error *err)
{
    *ret_done = false;
    if (erasure->page.erasure_epoch == 0) {
        erasure->round.at = 0;
        return storage_page_next(store, erasure, PAGE_BLANK, ret_done, err);
    }
    return erasure->round.at < erasure->page.ids.count ? blank_in_transaction(store, erasure, err)
                                                       : end_page(store, erasure, err);
}
