/* Recognising a store that was copied, restored or moved: see restored.h. */
#include "storage/restored.h"

#include "core/base/log.h"
#include "storage/files/owned.h"
#include "storage/files/scrub_intent.h"
#include "storage/sums/sums.h"

struct recognised {
    size_t same, recognised, gone, other; /* of its own */
    size_t referred;                      /* files with another identity */
    bool is_moved;                        /* it was at another place for certain */
    struct sum_rows sums;
};

/* ---- files ---- */

static enum owned_state recognise_owned(const struct dataset *dataset, struct stored_file *file,
                                        struct recognised *counts)
{
    enum owned_state state = storage_owned_recognise(dataset, file);

    counts->same += state == OWNED_SAME;
    counts->recognised += state == OWNED_RECOGNISED;
    counts->gone += state == OWNED_GONE;
    counts->other += state == OWNED_OTHER;
    return state;
}

static enum owned_state recognise_referred(const struct store *store, const struct dataset *dataset,
                                           struct stored_file *file, struct recognised *counts)
{
    enum owned_state state = storage_referred_recognise(dataset, &store->secret, file);

    counts->referred += state == OWNED_RECOGNISED;
    return state;
}

/* A store of an older Weir may never have been moved: then only what has another identity was. */
static enum weir_status note_moved(const struct dataset *dataset, const struct stored_file *file,
                                   enum owned_state state, struct recognised *counts,
                                   struct weir_error *err)
{
    bool is_moved = state == OWNED_RECOGNISED || (state == OWNED_SAME && counts->is_moved);

    return storage_owns(dataset) && is_moved
               ? storage_sums_note_moved(&counts->sums, dataset, file, err)
               : WEIR_OK;
}

/* A scrub that was broken off knows the file by what it was. */
static enum weir_status recognise(struct store *store, const struct dataset *dataset,
                                  struct stored_file *file, struct recognised *counts,
                                  struct weir_error *err)
{
    struct stored_file before = *file;
    enum owned_state state = storage_owns(dataset)
                                 ? recognise_owned(dataset, file, counts)
                                 : recognise_referred(store, dataset, file, counts);
    enum weir_status status = note_moved(dataset, file, state, counts, err);

    if (status != WEIR_OK || state != OWNED_RECOGNISED)
        return status;
    file->group->is_touched = true;
    return storage_scrub_intents_follow(store->data_dir, &before, file, err);
}

static enum weir_status recognise_group(struct store *store, const struct dataset *dataset,
                                        struct file_group *group, struct recognised *counts,
                                        struct weir_error *err)
{
    enum weir_status status = WEIR_OK;

    for (size_t i = 0; status == WEIR_OK && i < group->count; i++) {
        struct stored_file *file = NULL;

        status = storage_dataset_file(dataset, group->first_file + i, &file, err);
        if (status == WEIR_OK && file != NULL && file->state == FILE_LIVE && file->path != NULL)
            status = recognise(store, dataset, file, counts, err);
    }
    if (status == WEIR_OK && group->is_touched)
        status = storage_file_cache_write(dataset->file_cache, dataset->number, group, err);
    storage_file_cache_trim(dataset->file_cache);
    return status;
}

static enum weir_status recognise_all(struct store *store, struct recognised *counts,
                                      struct weir_error *err)
{
    enum weir_status status = WEIR_OK;

    for (size_t d = 0; d < store->catalog->count; d++) {
        struct dataset *dataset = store->catalog->datasets[d];

        for (size_t i = 0; status == WEIR_OK && i < dataset->group_count; i++)
            status = recognise_group(store, dataset, dataset->groups[i], counts, err);
    }
    return status == WEIR_OK ? storage_sum_rows_write(&counts->sums, err) : status;
}

static void tell(const struct homes *homes, const struct recognised *counts)
{
    weir_log(counts->gone + counts->other > 0 ? WEIR_LOG_WARN : WEIR_LOG_INFO,
             "this store was copied, restored or moved: its files are looked up again",
             "from=\"%s\" as_recorded=%zu recognised=%zu gone=%zu not_recognised=%zu "
             "referred_to=%zu%s",
             homes->recorded.place, counts->same, counts->recognised, counts->gone, counts->other,
             counts->referred, counts->gone + counts->other > 0 ? " see=\"weir doctor\"" : "");
}

static enum weir_status settle(struct store *store, const struct homes *homes,
                               struct recognised *counts, struct weir_error *err)
{
    enum weir_status status = weir_db_begin(store->db, err);

    if (status == WEIR_OK && homes->verdict == HOME_ELSEWHERE)
        status = recognise_all(store, counts, err);
    if (status == WEIR_OK)
        status = storage_home_put(store->db, &homes->here, err);
    if (status == WEIR_OK)
        status = weir_db_commit(store->db, err);
    if (status != WEIR_OK)
        weir_db_rollback(store->db);
    return status;
}

enum weir_status storage_restored_check(struct store *store, struct homes *homes,
                                        struct weir_error *err)
{
    struct recognised counts = {.sums = {.db = store->db}};
    enum weir_status status = storage_home_make(store->db, store->data_dir, homes, err);

    counts.is_moved = homes->is_recorded;
    if (status == WEIR_OK)
        status = settle(store, homes, &counts, err);
    if (status == WEIR_OK && homes->verdict == HOME_ELSEWHERE &&
        (homes->is_recorded || counts.recognised + counts.referred > 0))
        tell(homes, &counts);
    return status;
}
