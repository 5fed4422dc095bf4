/* Damaged blocks, and their reporting: see sums.h. */
#include "storage/sums/sums_state.h"

#include "core/base/log.h"

#include <inttypes.h>

static void bump_edition(struct sums *sums, uint32_t number)
{
    struct dataset *dataset = storage_catalog_at(sums->store->catalog, number);

    if (dataset != NULL)
        storage_dataset_bump_edition(dataset);
}

/* The log names no file: its name may be a person's. */
void storage_sums_note_damage(struct sums *sums, const struct block_at *at)
{
    const struct dataset *dataset = storage_catalog_at(sums->store->catalog, at->dataset);

    if (dataset == NULL || !storage_block_set_add(&sums->damaged, at))
        return;
    bump_edition(sums, at->dataset);
    weir_log(WEIR_LOG_WARN, "a file of Weir's own does not hold what was written to it",
             "dataset=%s file=%" PRIu64 " from_byte=%" PRIu64
             " see=\"weir datasets, weir doctor --deep\"",
             dataset->name, at->file, at->block * SUM_BLOCK_BYTES);
}

void storage_sums_note_good(struct sums *sums, const struct block_at *at)
{
    const struct dataset *dataset = storage_catalog_at(sums->store->catalog, at->dataset);

    if (dataset == NULL || !storage_block_set_remove(&sums->damaged, at))
        return;
    bump_edition(sums, at->dataset);
    weir_log(WEIR_LOG_INFO, "a damaged block holds what was written to it again",
             "dataset=%s file=%" PRIu64 " from_byte=%" PRIu64, dataset->name, at->file,
             at->block * SUM_BLOCK_BYTES);
}

/* ---- telling ---- */

bool storage_sums_is_damaged(const struct sums *sums, const struct dataset *dataset, uint64_t file,
                             uint64_t offset, uint64_t length)
{
    return storage_block_set_touch(&sums->damaged, dataset->number, file, offset, length);
}

bool storage_sums_has_damage(const struct sums *sums, const struct dataset *dataset, uint64_t first,
                             uint64_t count)
{
    const struct block_at at = {dataset->number, first, 0};
    size_t place = sums->damaged.count > 0 ? storage_block_set_from(&sums->damaged, &at) : 0;

    return place < sums->damaged.count && sums->damaged.at[place].dataset == dataset->number &&
           sums->damaged.at[place].file < first + count;
}

size_t storage_sums_complaints(const struct sums *sums, const struct dataset *dataset,
                               struct weir_arena *arena, const char **ret_texts, size_t max)
{
    const struct block_at first = {dataset->number, 0, 0};
    size_t count = 0;

    for (size_t i = storage_block_set_from(&sums->damaged, &first);
         i < sums->damaged.count && sums->damaged.at[i].dataset == dataset->number && count < max;
         i++) {
        const struct block_at *at = &sums->damaged.at[i];
        struct stored_file *file = NULL;
        struct weir_error err;
        uint64_t from = at->block * SUM_BLOCK_BYTES;

        if (storage_dataset_file(dataset, at->file, &file, &err) != WEIR_OK || file == NULL ||
            file->path == NULL)
            continue;
        ret_texts[count++] = weir_arena_format(
            arena,
            "%s: bytes %" PRIu64 " to %" PRIu64 " of Weir's own file are not what was written "
            "there: samples in them count as gone until it is put right (weir doctor --deep)",
            file->path, from,
            from + storage_block_length(at->block, storage_sums_extent(dataset, file)));
    }
    return count;
}
