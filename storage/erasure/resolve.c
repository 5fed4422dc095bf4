/* Which samples a request for an erasure may mean: by id, and by subject and key through the sorted runs of hashes. */
#include "storage/erasure/erasure_record.h"
#include "storage/keys/key_store.h"

#include <stdlib.h>

static void add_if_known(const struct store *store, const struct erase_request *request,
                         uint64_t id, struct id_list *ids)
{
    const struct dataset *dataset = storage_catalog_at(store->catalog, weir_sample_dataset(id));
    uint32_t block = weir_sample_block(id), row = weir_sample_row(id);

    if (dataset != NULL && (request->dataset == 0 || request->dataset == dataset->number) &&
        storage_dataset_chunk(dataset, block, row) != NULL &&
        !storage_dataset_is_erased(dataset, block, row))
        storage_id_list_add(ids, id);
}

static enum weir_status resolve_in(struct store *store, const struct erase_request *request,
                                   const struct dataset *dataset, size_t max, struct id_list *ids,
                                   struct weir_error *err)
{
    struct key_hits hits = {0};
    enum weir_status status =
        storage_key_store_find(store->db, &dataset->subjects, &request->subjects, max, &hits, err);

    if (status == WEIR_OK)
        status = storage_key_store_find(store->db, &dataset->keys, &request->keys, max, &hits, err);
    for (size_t i = 0; status == WEIR_OK && i < hits.count; i++)
        add_if_known(store, request, storage_dataset_id(dataset, hits.at[i].id), ids);
    free(hits.at);
    return status;
}

enum weir_status storage_resolve(struct store *store, const struct erase_request *request,
                                 size_t max, struct id_list *ids, struct weir_error *err)
{
    enum weir_status status = WEIR_OK;

    for (size_t i = 0; i < request->wanted.count && ids->count < max; i++)
        add_if_known(store, request, request->wanted.at[i], ids);
    for (size_t i = 0; status == WEIR_OK && i < store->catalog->count && ids->count < max; i++) {
        const struct dataset *dataset = store->catalog->datasets[i];

        if (request->dataset == 0 || request->dataset == dataset->number)
            status = resolve_in(store, request, dataset, max, ids, err);
    }
    storage_id_list_sort(ids);
    return status;
}
