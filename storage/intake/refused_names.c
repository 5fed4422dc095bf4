/* Names of refused records and duplicates: see refused_names.h. */
#include "storage/intake/refused_names.h"

#include "storage/sql/queries.h"

#include <stdlib.h>

static enum weir_status add(struct weir_db *db, const struct dataset *dataset, const char *path,
                            struct id_list *hashes, struct weir_error *err)
{
    WEIR_AUTO_BUF packed = {0};

    if (hashes->count == 0)
        return WEIR_OK;
    storage_id_list_sort(hashes);
    storage_id_list_pack(hashes, &packed);
    return DB_RUN(db, Q_refused_names_add, NULL, err, DB_I64(dataset->number),
                  DB_BYTES(weir_bytes_of(path)), DB_BYTES(weir_buf_view(&packed)));
}

static int by_file(const void *a, const void *b)
{
    const struct staged_name *x = a, *y = b;

    return ((uintptr_t)x->file > (uintptr_t)y->file) - ((uintptr_t)x->file < (uintptr_t)y->file);
}

enum weir_status storage_refused_names_store(struct batch *batch, struct weir_db *db,
                                             struct weir_error *err)
{
    struct staged_name *names = batch->refused_names.at;
    struct id_list hashes = {0};
    enum weir_status status = WEIR_OK;

    if (batch->refused_names.count > 0)
        qsort(names, batch->refused_names.count, sizeof(*names), by_file);
    for (size_t i = 0; status == WEIR_OK && i < batch->refused_names.count; i++) {
        bool is_last = i + 1 == batch->refused_names.count || names[i + 1].file != names[i].file;

        storage_id_list_add(&hashes, names[i].hash);
        if (!is_last)
            continue;
        status = add(db, batch->dataset, names[i].file->path, &hashes, err);
        hashes.count = 0;
    }
    free(hashes.at);
    return status;
}

enum weir_status storage_refused_names_replace(struct weir_db *db, const struct dataset *dataset,
                                               const char *path, struct id_list *hashes,
                                               struct weir_error *err)
{
    enum weir_status status = DB_RUN(db, Q_refused_names_drop, NULL, err, DB_I64(dataset->number),
                                     DB_BYTES(weir_bytes_of(path)));

    return status == WEIR_OK ? add(db, dataset, path, hashes, err) : status;
}
