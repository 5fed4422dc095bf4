/* Which samples an erasure means: by id, and by subject and key through the sorted runs of hashes. */
#include "storage/erasure/open_erasure.h"
#include "storage/keys/key_identify.h"
#include "storage/keys/key_store.h"

#include <stdlib.h>

enum { SAMPLES_PER_STEP = 2048, PATIENCE_MS = 1000 };

static void add_if_known(const struct storage *storage, const struct open_erasure *erasure,
                         uint64_t id, struct id_list *ids)
{
    const struct dataset *dataset = storage_catalog_at(storage->catalog, weir_sample_dataset(id));
    uint32_t block = weir_sample_block(id), row = weir_sample_row(id);

    if (dataset && (erasure->dataset == 0 || erasure->dataset == dataset->number) &&
        storage_dataset_chunk(dataset, block, row) &&
        !storage_dataset_is_erased(dataset, block, row))
        storage_id_list_add(ids, id);
}

/* What the hashes mean in one index. */
static enum weir_status look_up(struct storage *storage, const struct key_index *index,
                                const struct id_list *hashes, struct key_hits *hits,
                                struct weir_error *err)
{
    struct key_reader reader = {.db = storage->db};
    const struct key_source source = storage_key_reader_source(&reader);
    enum weir_status status =
        storage_key_index_find(index, hashes->at, hashes->count, &source, hits, err);

    storage_key_reader_fini(&reader);
    return status;
}

static enum weir_status resolve_in(struct storage *storage, const struct open_erasure *erasure,
                                   const struct dataset *dataset, struct id_list *ids,
                                   struct weir_error *err)
{
    struct key_hits hits = {0};
    enum weir_status status = look_up(storage, &dataset->subjects, &erasure->subjects, &hits, err);

    if (status == WEIR_OK)
        status = look_up(storage, &dataset->keys, &erasure->keys, &hits, err);
    for (size_t i = 0; status == WEIR_OK && i < hits.count; i++)
        add_if_known(storage, erasure, storage_dataset_id(dataset, hits.at[i].id), ids);
    free(hits.at);
    return status;
}

enum weir_status storage_resolve(struct storage *storage, const struct open_erasure *erasure,
                                 struct id_list *ids, struct weir_error *err)
{
    enum weir_status status = WEIR_OK;

    for (size_t i = 0; i < erasure->wanted.count; i++)
        add_if_known(storage, erasure, erasure->wanted.at[i], ids);
    for (size_t i = 0; status == WEIR_OK && i < storage->catalog->count; i++) {
        const struct dataset *dataset = storage->catalog->datasets[i];

        if (erasure->dataset == 0 || erasure->dataset == dataset->number)
            status = resolve_in(storage, erasure, dataset, ids, err);
    }
    storage_id_list_sort(ids);
    return status;
}

/* ---- by what records say ---- */

static void note_hashes(struct open_erasure *erasure, const struct key_identity *identity)
{
    erasure->is_blind = erasure->is_blind || !identity->is_known;
    if (identity->has_subject)
        storage_id_list_add(&erasure->hashes, identity->subject.hash);
    if (identity->has_key)
        storage_id_list_add(&erasure->hashes, identity->key.hash);
}

/* Another's hash may be the same by chance: then the sample stays. */
static bool is_meant(const struct open_erasure *erasure, uint64_t id,
                     const struct key_identity *identity)
{
    return !identity->is_known || storage_id_list_has(&erasure->wanted, id) ||
           (identity->has_subject && storage_key_names_have(&erasure->names, &identity->subject)) ||
           (identity->has_key && storage_key_names_have(&erasure->names, &identity->key));
}

static enum weir_status check_one(struct storage *storage, struct open_erasure *erasure,
                                  uint64_t id, struct weir_error *err)
{
    struct located found;
    struct key_identity identity;
    enum weir_status status = storage_find(storage, id, &found, err);

    if (status != WEIR_OK)
        return status;
    identity = storage_key_identify(erasure->identifier, &found);
    if (!is_meant(erasure, id, &identity))
        return WEIR_OK;
    note_hashes(erasure, &identity);
    erasure->ids.at[erasure->kept++] = id;
    return WEIR_OK;
}

static enum weir_status begin_checking(struct storage *storage, struct open_erasure *erasure,
                                       struct weir_error *err)
{
    const struct gather_from from = storage_gather_from(storage);

    storage_id_fetch_fini(&erasure->fetch);
    erasure->ids.count = erasure->hashes.count = 0;
    erasure->checked = erasure->kept = 0;
    erasure->is_blind = false;
    erasure->identifier = storage_key_identifier_new(&from);
    return storage_resolve(storage, erasure, &erasure->ids, err);
}

/* Records in buckets, a few at a time. Nobody waits long for them: who cannot be told from others counts as meant. */
static bool is_fetched(struct storage *storage, struct open_erasure *erasure)
{
    const struct id_fetching asked = {.ids = erasure->ids.at,
                                      .count = erasure->ids.count,
                                      .at = erasure->checked,
                                      .wants_head = true,
                                      .patience_ms = PATIENCE_MS};

    return storage_id_fetch(storage, &erasure->fetch, &asked);
}

enum weir_status storage_resolve_step(struct storage *storage, struct open_erasure *erasure,
                                      bool *ret_done, struct weir_error *err)
{
    enum weir_status status = WEIR_OK;

    if (!erasure->identifier)
        status = begin_checking(storage, erasure, err);
    *ret_done = false;
    if (status == WEIR_OK && !is_fetched(storage, erasure))
        return WEIR_OK;
    for (size_t i = 0;
         status == WEIR_OK && i < SAMPLES_PER_STEP && erasure->checked < erasure->ids.count &&
         erasure->checked < erasure->fetch.upto;
         i++)
        status = check_one(storage, erasure, erasure->ids.at[erasure->checked++], err);
    *ret_done = status == WEIR_OK && erasure->checked == erasure->ids.count;
    if (status == WEIR_OK && !*ret_done)
        return WEIR_OK;
    storage_key_identifier_free(erasure->identifier);
    storage_id_fetch_fini(&erasure->fetch);
    erasure->identifier = NULL;
    erasure->ids.count = erasure->kept;
    storage_id_list_sort(&erasure->hashes);
    erasure->hashes.count = erasure->is_blind ? 0 : erasure->hashes.count;
    return status;
}
