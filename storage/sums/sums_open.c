/* Blocks that somebody is going to change: see sums.h. */
#include "storage/sums/sums_state.h"

#include <unistd.h>

enum weir_status storage_sum_opening_begin(struct sums *sums, const void *owner,
                                           struct sum_opening *ret_opening, struct weir_error *err)
{
    *ret_opening = (struct sum_opening){
        .sums = sums, .owner = owner, .rows = {.db = sums->store->db}, .fd = -1};
    return weir_db_begin(sums->store->db, err);
}

static void close_file(struct sum_opening *opening)
{
    if (opening->fd >= 0)
        close(opening->fd);
    opening->fd = -1;
    opening->dataset = 0;
}

static void move_to_file(struct sum_opening *opening, const struct dataset *dataset,
                         const struct stored_file *file)
{
    WEIR_AUTO_FREE char *path = NULL;

    if (opening->dataset == dataset->number && opening->file == storage_file_number(file))
        return;
    close_file(opening);
    path = storage_dataset_path(dataset, file);
    opening->dataset = dataset->number;
    opening->file = storage_file_number(file);
    opening->fd = storage_sum_file_open(
        &(struct sum_file){.path = path, .device = file->device, .inode = file->inode});
}

static void note_open(struct sum_opening *opening, const struct block_at *at,
                      const struct block_sum *known)
{
    struct sums *sums = opening->sums;

    sums->open = weir_grow(sums->open, sums->open_count, &sums->open_capacity, sizeof(*sums->open));
    sums->open[sums->open_count++] =
        (struct open_block){.owner = opening->owner,
                            .at = *at,
                            .length = known->length == SUM_DAMAGED ? 0 : known->length};
    if (!storage_block_set_add(&sums->open_blocks, at))
        sums->is_void = true; /* more than are kept apart */
    if (sums->work != NULL && !storage_block_set_add(&sums->touched, at))
        sums->is_void = true;
}

/* Compares the former bytes with their sum for the last time: damage among them would be summed again. */
static struct block_sum compare_last(struct sum_opening *opening, const struct block_at *at,
                                     const struct block_sum *known)
{
    struct sum_task task = {.at = *at, .known = *known};
    WEIR_AUTO_FREE uint8_t *buffer = NULL;

    if (known->length == 0 || known->length == SUM_DAMAGED || opening->fd < 0)
        return (struct block_sum){.length = known->length == SUM_DAMAGED ? SUM_DAMAGED : 0,
                                  .is_unproven = known->is_unproven};
    buffer = weir_calloc(1, SUM_BLOCK_BYTES);
    storage_sum_task_read(&opening->sums->store->secret, opening->fd, buffer, &task);
    if (task.outcome != SUM_OTHER)
        return (struct block_sum){.is_unproven = known->is_unproven};
    storage_sums_note_damage(opening->sums, at);
    return (struct block_sum){.length = SUM_DAMAGED};
}

static enum weir_status open_block(struct sum_opening *opening, const struct block_at *at,
                                   struct weir_error *err)
{
    struct block_sum known, left;
    enum weir_status status = storage_sum_rows_get(&opening->rows, at, &known, err);

    if (status != WEIR_OK)
        return status;
    left = compare_last(opening, at, &known);
    note_open(opening, at, &known);
    return known.length > 0 ? storage_sum_rows_put(&opening->rows, at, left, err) : WEIR_OK;
}

enum weir_status storage_sum_opening_add(struct sum_opening *opening, const struct dataset *dataset,
                                         const struct stored_file *file, uint64_t offset,
                                         uint64_t length, struct weir_error *err)
{
    struct block_at at = {dataset->number, storage_file_number(file), offset / SUM_BLOCK_BYTES};
    enum weir_status status = WEIR_OK;

    if (!storage_sums_are_for(dataset))
        return WEIR_OK;
    move_to_file(opening, dataset, file);
    for (; status == WEIR_OK && at.block * SUM_BLOCK_BYTES < offset + length; at.block++) {
        if (!storage_block_set_touch(&opening->sums->open_blocks, at.dataset, at.file,
                                     at.block * SUM_BLOCK_BYTES, 1))
            status = open_block(opening, &at, err);
    }
    return status;
}

enum weir_status storage_sum_opening_end(struct sum_opening *opening, enum weir_status status,
                                         struct weir_error *err)
{
    struct weir_db *db = opening->rows.db;

    opening->sums->edition++;
    if (status == WEIR_OK)
        status = storage_sum_rows_write(&opening->rows, err);
    if (status == WEIR_OK)
        status = weir_db_commit(db, err);
    if (status != WEIR_OK)
        weir_db_rollback(db);
    close_file(opening);
    return status;
}

bool storage_sums_are_open(const struct sums *sums, const struct dataset *dataset, uint64_t file,
                           uint64_t offset, uint64_t length)
{
    uint64_t from = offset / SUM_BLOCK_BYTES * SUM_BLOCK_BYTES;

    for (; storage_sums_are_for(dataset) && from < offset + length; from += SUM_BLOCK_BYTES) {
        if (!storage_block_set_touch(&sums->open_blocks, dataset->number, file, from, 1))
            return false;
    }
    return true;
}

static void note_closed(struct sums *sums, const struct open_block *open)
{
    struct dataset *dataset = storage_catalog_at(sums->store->catalog, open->at.dataset);
    uint64_t from = open->at.block * SUM_BLOCK_BYTES;

    if (dataset != NULL && open->length > 0)
        storage_fresh_add(&dataset->fresh,
                          (struct fresh_bytes){open->at.file, from, from + open->length});
}

void storage_sums_close(struct sums *sums, const void *owner)
{
    size_t kept = 0;

    for (size_t i = 0; i < sums->open_count; i++) {
        if (owner != NULL && sums->open[i].owner != owner)
            sums->open[kept++] = sums->open[i];
        else
            note_closed(sums, &sums->open[i]);
    }
    sums->open_count = kept;
    storage_block_set_fini(&sums->open_blocks);
    for (size_t i = 0; i < kept; i++)
        (void)storage_block_set_add(&sums->open_blocks, &sums->open[i].at);
}
