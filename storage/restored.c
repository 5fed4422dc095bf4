/* Recognising a store that was copied, restored or moved: see restored.h. */
#include "storage/restored.h"

#include "core/base/file.h"
#include "core/base/log.h"
#include "core/base/memory.h"
#include "storage/erasure/scrub_intent.h"
#include "storage/queries.h"
#include "storage/scanning/owned.h"

#include <errno.h>
#include <inttypes.h>
#include <string.h>
#include <sys/stat.h>

/* Identity of the file that is made once: a copy has another inode, or was changed at another time. */
struct home {
    int64_t inode, changed_ns;
};

struct recognised {
    size_t same, recognised, gone, other;
};

/* ---- the file that is made once ---- */

static enum weir_status look_home(const struct storage *storage, struct home *ret_home,
                                  struct weir_error *err)
{
    static const char TEXT[] = "Made when storage first opened this directory: it tells a copy "
                               "from the original.\n";
    WEIR_AUTO_FREE char *path = weir_format("%s/storage/.home", storage->data_dir);
    WEIR_AUTO_FREE char *folder = weir_format("%s/storage", storage->data_dir);
    struct stat found;
    enum weir_status status = WEIR_OK;

    if (lstat(path, &found) < 0) {
        status = weir_make_directories(folder, 0700, err);
        if (status == WEIR_OK)
            status = weir_file_write_atomic(path, weir_bytes_of(TEXT), err);
        if (status == WEIR_OK && lstat(path, &found) < 0)
            status = weir_fail(err, WEIR_IO, "%s: cannot stat: %s", path, strerror(errno));
    }
    if (status == WEIR_OK)
        *ret_home = (struct home){.inode = (int64_t)found.st_ino,
                                  .changed_ns = found.st_ctim.tv_sec * INT64_C(1000000000) +
                                                found.st_ctim.tv_nsec};
    return status;
}

/* ---- files ---- */

/* A scrub that was broken off knows the file by what it was. */
static enum weir_status recognise(struct storage *storage, const struct dataset *dataset,
                                  struct stored_file *file, struct recognised *counts,
                                  struct weir_error *err)
{
    struct stored_file before = *file;
    enum weir_status status = WEIR_OK;

    switch (storage_owned_recognise(dataset, file)) {
    case OWNED_SAME:
        counts->same++;
        break;
    case OWNED_RECOGNISED:
        counts->recognised++;
        file->group->is_touched = true;
        status = storage_scrub_intents_follow(storage->data_dir, &before, file, err);
        break;
    case OWNED_GONE:
        counts->gone++;
        break;
    case OWNED_OTHER:
        counts->other++;
        break;
    }
    return status;
}

static enum weir_status recognise_group(struct storage *storage, const struct dataset *dataset,
                                        struct file_group *group, struct recognised *counts,
                                        struct weir_error *err)
{
    enum weir_status status = WEIR_OK;

    for (size_t i = 0; status == WEIR_OK && i < group->count; i++) {
        struct stored_file *file = NULL;

        status = storage_dataset_file(dataset, group->first_file + i, &file, err);
        if (status == WEIR_OK && file && file->state == FILE_LIVE && file->path)
            status = recognise(storage, dataset, file, counts, err);
    }
    if (status == WEIR_OK && group->is_touched)
        status = storage_file_shelf_write(dataset->shelf, dataset->number, group, err);
    storage_file_shelf_trim(dataset->shelf);
    return status;
}

static enum weir_status recognise_all(struct storage *storage, struct recognised *counts,
                                      struct weir_error *err)
{
    enum weir_status status = WEIR_OK;

    for (size_t d = 0; d < storage->catalog->count; d++) {
        struct dataset *dataset = storage->catalog->datasets[d];

        if (!storage_owns(dataset))
            continue;
        for (size_t i = 0; status == WEIR_OK && i < dataset->group_count; i++)
            status = recognise_group(storage, dataset, dataset->groups[i], counts, err);
    }
    return status;
}

static void tell(const struct recognised *counts)
{
    weir_log(counts->gone + counts->other > 0 ? WEIR_LOG_WARN : WEIR_LOG_INFO,
             "this store was copied, restored or moved: its own files are looked up again",
             "as_recorded=%zu recognised=%zu gone=%zu not_recognised=%zu%s", counts->same,
             counts->recognised, counts->gone, counts->other,
             counts->gone + counts->other > 0 ? " see=\"weir doctor\"" : "");
}

enum weir_status storage_restored_check(struct storage *storage, struct weir_error *err)
{
    WEIR_AUTO(weir_rows) rows = NULL;
    struct recognised counts = {0};
    struct home home;
    enum weir_status status = look_home(storage, &home, err);

    if (status == WEIR_OK)
        status = DB_RUN(storage->db, Q_home, &rows, err);
    if (status != WEIR_OK)
        return status;
    if (weir_rows_count(rows) > 0 && weir_rows_i64(rows, 0, 0) == home.inode &&
        weir_rows_i64(rows, 0, 1) == home.changed_ns)
        return WEIR_OK;
    status = weir_db_begin(storage->db, err);
    if (status == WEIR_OK)
        status = recognise_all(storage, &counts, err);
    if (status == WEIR_OK)
        status =
            DB_RUN(storage->db, Q_home_put, NULL, err, DB_I64(home.inode), DB_I64(home.changed_ns));
    if (status == WEIR_OK)
        status = weir_db_commit(storage->db, err);
    if (status != WEIR_OK)
        weir_db_rollback(storage->db);
    else if (weir_rows_count(rows) > 0 || counts.recognised > 0)
        tell(&counts);
    return status;
}
