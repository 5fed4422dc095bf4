/* Which samples an erasure means: by id, and by subject and key through the sorted runs of hashes. */
#include "storage/key_store.h"
#include "storage/open_erasure.h"

#include <stdlib.h>

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
