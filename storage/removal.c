/* Removing datasets, step by step: see removal.h. */
#include "storage/removal.h"

#include "core/base/fault.h"
#include "core/base/file.h"
#include "core/base/log.h"
#include "core/base/memory.h"
#include "core/loop/work.h"
#include "storage/sql/queries.h"

#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

static const char ASIDE[] = ".removed-";

struct removal {
    struct store *store;
    struct weir_work *work; /* NULL: nothing is being unlinked */
    char **folders;         /* being unlinked */
    size_t count, capacity;
    bool has_more;            /* other folders came while it was at work */
    enum weir_status outcome; /* of the work, with `err` */
    struct weir_error err;
};

static char *aside_of(const struct removal *removal, uint32_t number)
{
    return weir_format("%s/storage/%s%u", removal->store->data_dir, ASIDE, number);
}

/* ---- unlinking, on a thread ---- */

static void run(struct weir_work *work, void *owner)
{
    struct removal *removal = owner;

    removal->outcome = WEIR_OK;
    for (size_t i = 0; i < removal->count && removal->outcome == WEIR_OK &&
                       weir_work_goes_on(work, i, removal->count);
         i++)
        removal->outcome = weir_remove_tree(removal->folders[i], &removal->err);
}

static void forget_folders(struct removal *removal)
{
    for (size_t i = 0; i < removal->count; i++)
        free(removal->folders[i]);
    removal->count = 0;
}

static void on_done(void *owner)
{
    struct removal *removal = owner;
    struct weir_error err;

    removal->work = NULL;
    forget_folders(removal);
    if (removal->outcome != WEIR_OK)
        weir_log(WEIR_LOG_WARN, "files of a removed dataset stay until the next start",
                 "error=\"%s\"", removal->err.text);
    else if (removal->has_more && storage_removal_settle(removal, &err) != WEIR_OK)
        weir_log(WEIR_LOG_WARN, "files of a removed dataset stay for now", "error=\"%s\"",
                 err.text);
}

static enum weir_status unlink_all(struct removal *removal, struct weir_error *err)
{
    return removal->count == 0
               ? WEIR_OK
               : weir_work_start(removal->store->loop, run, on_done, removal, &removal->work, err);
}

/* ---- settling ---- */

/* Its transaction was not committed: nothing has happened. */
static enum weir_status put_back(const struct dataset *dataset, const char *aside,
                                 struct weir_error *err)
{
    if (rename(aside, dataset->copies) < 0)
        return weir_fail(err, WEIR_IO, "dataset '%s': cannot put its files back from %s to %s: %s",
                         dataset->name, aside, dataset->copies, strerror(errno));
    return weir_sync_parent(dataset->copies, err);
}

static enum weir_status settle_one(struct removal *removal, const char *name,
                                   struct weir_error *err)
{
    uint64_t number = strtoull(name + strlen(ASIDE), NULL, 10);
    const struct dataset *dataset = storage_catalog_at(removal->store->catalog, number);
    WEIR_AUTO_FREE char *aside = weir_format("%s/storage/%s", removal->store->data_dir, name);

    if (dataset != NULL)
        return put_back(dataset, aside, err);
    removal->has_more = removal->work != NULL;
    if (removal->has_more)
        return WEIR_OK;
    removal->folders =
        weir_grow(removal->folders, removal->count, &removal->capacity, sizeof(*removal->folders));
    removal->folders[removal->count++] = WEIR_TAKE(aside);
    return WEIR_OK;
}

enum weir_status storage_removal_settle(struct removal *removal, struct weir_error *err)
{
    WEIR_AUTO_FREE char *folder = weir_format("%s/storage", removal->store->data_dir);
    enum weir_status status = WEIR_OK;
    DIR *entries = opendir(folder);

    if (entries == NULL)
        return WEIR_OK; /* without a folder there is nothing of its own */
    for (const struct dirent *entry; status == WEIR_OK && (entry = readdir(entries)) != NULL;)
        if (strncmp(entry->d_name, ASIDE, strlen(ASIDE)) == 0)
            status = settle_one(removal, entry->d_name, err);
    closedir(entries);
    if (status == WEIR_OK && removal->work == NULL)
        status = unlink_all(removal, err);
    if (status != WEIR_OK && removal->work == NULL)
        forget_folders(removal);
    return status;
}

/* ---- removing ---- */

/* Erasures that are not verified have yet to look into it. */
enum weir_status storage_removal_check_erasures(const struct removal *removal,
                                                const struct dataset *dataset,
                                                struct weir_error *err)
{
    WEIR_AUTO(weir_rows) rows = NULL;
    enum weir_status status =
        DB_RUN(removal->store->db, Q_dataset_erasure, &rows, err, DB_I64(dataset->number));

    if (status != WEIR_OK || weir_rows_count(rows) == 0)
        return status;
    return weir_fail(err, WEIR_UNSUPPORTED,
                     "dataset '%s' cannot be removed: erasure %lld is open: weir erase status %lld",
                     dataset->name, (long long)weir_rows_i64(rows, 0, "number"),
                     (long long)weir_rows_i64(rows, 0, "number"));
}

static enum weir_status check_free(const struct removal *removal, const struct dataset *dataset,
                                   struct weir_error *err)
{
    if (dataset->updated_by != NULL)
        return weir_fail(err, WEIR_UNSUPPORTED,
                         "dataset '%s' cannot be removed: dataset '%s' has labels for it: "
                         "weir datasets remove %s",
                         dataset->name, dataset->updated_by->name, dataset->updated_by->name);
    return storage_removal_check_erasures(removal, dataset, err);
}

/* A dataset whose files are only read has no folder. */
static enum weir_status set_aside(const struct removal *removal, const struct dataset *dataset,
                                  struct weir_error *err)
{
    WEIR_AUTO_FREE char *aside = aside_of(removal, dataset->number);

    if (rename(dataset->copies, aside) == 0)
        return weir_sync_parent(aside, err);
    if (errno == ENOENT)
        return WEIR_OK;
    return weir_fail(err, WEIR_IO, "dataset '%s': cannot set its files in %s aside: %s",
                     dataset->name, dataset->copies, strerror(errno));
}

enum weir_status storage_removal_begin(struct removal *removal, const struct dataset *dataset,
                                       struct weir_error *err)
{
    struct store *store = removal->store;
    enum weir_status status = check_free(removal, dataset, err);

    if (status == WEIR_OK)
        status = set_aside(removal, dataset, err);
    if (status != WEIR_OK)
        return status;
    storage_doubt(store);
    if (weir_fault("removal.aside"))
        return weir_fail(err, WEIR_UNAVAILABLE, "fault removal.aside");
    status = DB_RUN(store->db, Q_dataset_forget, NULL, err, DB_I64(dataset->number));
    if (status != WEIR_OK)
        return status;
    (void)weir_fault("removal.forgotten"); /* committed: only death can come between */
    weir_log(WEIR_LOG_INFO, "dataset removed", "dataset=%s number=%u", dataset->name,
             dataset->number);
    return WEIR_OK;
}

bool storage_removal_is_under_way(const struct removal *removal, uint32_t number)
{
    WEIR_AUTO_FREE char *aside = aside_of(removal, number);
    struct stat found;

    return lstat(aside, &found) == 0;
}

/* ---- life ---- */

struct removal *storage_removal_new(struct store *store)
{
    struct removal *removal = weir_calloc(1, sizeof(*removal));

    removal->store = store;
    return removal;
}

void storage_removal_free(struct removal *removal)
{
    if (removal == NULL)
        return;
    weir_work_stop(removal->work);
    forget_folders(removal);
    free(removal->folders);
    free(removal);
}
