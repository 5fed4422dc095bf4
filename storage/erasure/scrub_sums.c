/* Sums of the blocks that an erasure is about to change: taken out, for good, before the first byte of them changes,
 * and made again once the page is overwritten. Each block is compared with its sum before it loses it. */
#include "storage/erasure/erasure_record.h"

#include "core/base/clock.h"
#include "core/base/fault.h"
#include "storage/sums/sums.h"

enum { AROUND_BYTES = 1024 }; /* an extent is a little more than its payload, as a rule */

static enum weir_status open_sample(struct store *store, struct sum_opening *opening, uint64_t id,
                                    struct weir_error *err)
{
    struct located found;
    enum weir_status status = storage_find(store, id, &found, err);
    uint64_t before;

    if (status != WEIR_OK || !storage_scrub_has_bytes(&found))
        return status;
    before = found.offset < AROUND_BYTES ? found.offset : AROUND_BYTES;
    return storage_sum_opening_add(opening, found.dataset, found.file, found.offset - before,
                                   before + found.length + AROUND_BYTES, err);
}

/* Blocks of samples that are left to another round keep their sums, by which they are known then. */
static enum weir_status open_some(struct store *store, struct erasure_record *erasure,
                                  struct sum_opening *opening, struct weir_error *err)
{
    const struct id_list *ids = &erasure->page.ids;
    int64_t until_ms = weir_now_ms() + ERASE_STEP_MS;
    enum weir_status status = WEIR_OK;

    while (status == WEIR_OK && erasure->round.at < ids->count && weir_now_ms() < until_ms) {
        uint64_t id = ids->at[erasure->round.at++];

        if (!storage_id_list_has(&erasure->page.unread, id))
            status = open_sample(store, opening, id, err);
    }
    return status;
}

enum weir_status storage_scrub_open_sums(struct eraser *eraser, struct erasure_record *erasure,
                                         bool *ret_done, struct weir_error *err)
{
    struct sum_opening opening;
    enum weir_status status = storage_sum_opening_begin(eraser->sums, erasure, &opening, err);

    if (status == WEIR_OK)
        status = open_some(eraser->store, erasure, &opening, err);
    if (status == WEIR_OK && weir_fault("storage.sums.open"))
        status = weir_fail(err, WEIR_UNAVAILABLE, "fault storage.sums.open");
    status = storage_sum_opening_end(&opening, status, err);
    *ret_done = status == WEIR_OK && erasure->round.at == erasure->page.ids.count;
    return status;
}

static enum weir_status open_now(struct eraser *eraser, struct erasure_record *erasure,
                                 const struct located *found, struct format_range range,
                                 struct weir_error *err)
{
    struct sum_opening opening;
    enum weir_status status = storage_sum_opening_begin(eraser->sums, erasure, &opening, err);

    if (status == WEIR_OK)
        status = storage_sum_opening_add(&opening, found->dataset, found->file, range.offset,
                                         range.length, err);
    return storage_sum_opening_end(&opening, status, err);
}

enum weir_status storage_scrub_open_extent(struct eraser *eraser, struct erasure_record *erasure,
                                           const struct located *found, struct format_range range,
                                           struct weir_error *err)
{
    if (storage_sums_are_open(eraser->sums, found->dataset, storage_file_number(found->file),
                              range.offset, range.length))
        return WEIR_OK;
    return open_now(eraser, erasure, found, range, err);
}
