/* Files that are only referred to, and that a scan found to be other ones before an erasure had overwritten its samples
 * in them. The scan kept the person's records out; they stand there all the same. */
#include "storage/erasure/erasure_record.h"

#include "core/base/file.h"
#include "core/base/memory.h"
#include "storage/catalog/guard.h"
#include "storage/files/owned.h"
#include "storage/sql/queries.h"

#include <errno.h>
#include <sys/stat.h>

/* Live until it was erased: what replaced it came while the erasure was under way. */
static bool was_live(const struct located *found, uint64_t id)
{
    const struct dead_rows *dead = storage_dataset_dead(found->dataset, weir_sample_block(id));

    return !weir_bits_get(&dead->removed, weir_sample_row(id)) &&
           !weir_bits_get(&dead->replaced, weir_sample_row(id));
}

/* A one-sample file that is kept out has no name in the catalog. */
static bool is_kept_out(const struct store *store, const struct located *found, const char *path)
{
    struct stored_file there = {0};
    struct stat now;

    if (lstat(path, &now) < 0)
        return false;
    there.size = (uint64_t)now.st_size;
    there.mtime_ns = weir_mtime_ns(&now);
    there.source_inode = now.st_ino;
    return storage_dataset_blocked(found->dataset,
                                   storage_guard_file(&store->secret, &there, found->file->path,
                                                      weir_ctime_ns(&now))) != NULL;
}

static enum weir_status count_kept_out(struct store *store, const struct located *found,
                                       const char *path, uint64_t *ret_count,
                                       struct weir_error *err)
{
    WEIR_AUTO(weir_rows) rows = NULL;
    enum weir_status status;

    if (found->dataset->declaration->format->is_one_sample) {
        *ret_count = is_kept_out(store, found, path);
        return WEIR_OK;
    }
    status = DB_RUN(store->db, Q_quarantine_kept_out, &rows, err, DB_I64(found->dataset->number),
                    DB_BYTES(weir_bytes_of(found->file->path)));
    *ret_count = status == WEIR_OK ? (uint64_t)weir_rows_i64(rows, 0, "blocked") : 0;
    return status;
}

/* Once for all samples of a file that come one after the other. */
static enum weir_status count_once(struct store *store, struct erasure_record *erasure,
                                   const struct located *found, const char *path,
                                   struct weir_error *err)
{
    struct kept_out *kept_out = &erasure->round.kept_out;
    uint64_t file = storage_file_number(found->file), count = 0;
    enum weir_status status;

    if (kept_out->dataset == found->dataset->number && kept_out->file == file)
        return WEIR_OK;
    status = count_kept_out(store, found, path, &count, err);
    if (status == WEIR_OK)
        *kept_out = (struct kept_out){found->dataset->number, file, count};
    return status;
}

enum weir_status storage_scrub_lost(struct store *store, struct erasure_record *erasure,
                                    const struct located *found, uint64_t id,
                                    struct weir_error *err)
{
    WEIR_AUTO_FREE char *path = NULL;
    enum weir_status status;

    if (storage_owns(found->dataset) || found->file->state != FILE_REPLACED ||
        found->file->path == NULL || !was_live(found, id))
        return WEIR_OK;
    path = storage_dataset_path(found->dataset, found->file);
    status = count_once(store, erasure, found, path, err);
    if (status != WEIR_OK || erasure->round.kept_out.count == 0)
        return status;
    erasure->round.error = ESTALE;
    return weir_fail(err, WEIR_IO,
                     "%.250s was changed before it could be overwritten, and holds records that "
                     "were erased and are kept out: remove them there",
                     path);
}
