/* Which samples an erasure means: by id, and by subject through the sorted runs of keyed hashes. */
#include "storage/open_erasure.h"
#include "storage/queries.h"

enum { ENTRY_BYTES = 16 };

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

/* The entries of one hash in a run lie together: find the first, take them all. */
static void look_up(const struct storage *storage, const struct open_erasure *erasure,
                    struct weir_bytes run, uint64_t hash, struct id_list *ids)
{
    size_t low = 0, high = run.size / ENTRY_BYTES;

    while (low < high) {
        size_t middle = low + (high - low) / 2;

        if (weir_get_u64(run.at + middle * ENTRY_BYTES) < hash)
            low = middle + 1;
        else
            high = middle;
    }
    for (; (low + 1) * ENTRY_BYTES <= run.size; low++) {
        if (weir_get_u64(run.at + low * ENTRY_BYTES) != hash)
            return;
        add_if_known(storage, erasure, weir_get_u64(run.at + low * ENTRY_BYTES + 8), ids);
    }
}

static enum weir_status look_up_all(struct storage *storage, const struct open_erasure *erasure,
                                    const struct dataset *dataset, struct id_list *ids,
                                    struct weir_error *err)
{
    WEIR_AUTO(weir_rows) rows = NULL;
    enum weir_status status =
        DB_RUN(storage->db, Q_subject_runs, &rows, err, DB_I64(dataset->number));

    for (size_t i = 0; status == WEIR_OK && i < weir_rows_count(rows); i++) {
        for (size_t s = 0; s < erasure->subjects.count; s++)
            look_up(storage, erasure, weir_rows_bytes(rows, i, 1), erasure->subjects.at[s], ids);
    }
    return status;
}

enum weir_status storage_resolve(struct storage *storage, const struct open_erasure *erasure,
                                 struct id_list *ids, struct weir_error *err)
{
    enum weir_status status = WEIR_OK;

    for (size_t i = 0; i < erasure->wanted.count; i++)
        add_if_known(storage, erasure, erasure->wanted.at[i], ids);
    for (size_t i = 0;
         status == WEIR_OK && erasure->subjects.count > 0 && i < storage->catalog->count; i++) {
        const struct dataset *dataset = storage->catalog->datasets[i];

        if (erasure->dataset == 0 || erasure->dataset == dataset->number)
            status = look_up_all(storage, erasure, dataset, ids, err);
    }
    storage_id_list_sort(ids);
    return status;
}
