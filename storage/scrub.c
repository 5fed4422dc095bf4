/* What happens to the bytes of erased samples. Everything here can be repeated after a death: what was
 * overwritten is recognised, and nothing is overwritten that is not what was erased. */
#include "storage/open_erasure.h"

#include "core/base/fault.h"
#include "core/base/file.h"
#include "core/base/memory.h"
#include "storage/extent.h"
#include "storage/file_job.h"
#include "storage/queries.h"
#include "storage/scrub_intent.h"
#include "storage/sidecar.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { SAMPLES_PER_STEP = 128, PIECE_BYTES = 4096 };

static const char CHANGED[] = "a file has changed since it was indexed: what it holds now was left "
                              "as it is; if that still is the person's data, remove it there";

void storage_erasure_remark(struct open_erasure *erasure, const char *remark)
{
    if (erasure->remarks.size > 0 && strstr(weir_buf_text(&erasure->remarks), remark))
        return;
    weir_buf_printf(&erasure->remarks, "%s%s", erasure->remarks.size > 0 ? "\n" : "", remark);
}

/* A sample whose bytes may still lie where they were indexed. */
static bool has_bytes(const struct located *found)
{
    return found->file && found->file->path && found->file->state == FILE_LIVE;
}

static bool read_range(int fd, uint64_t offset, struct weir_buf *bytes, uint64_t length)
{
    weir_buf_clear(bytes);
    weir_buf_reserve(bytes, (size_t)length + 1);
    while (bytes->size < length) {
        ssize_t got = pread(fd, bytes->at + bytes->size, (size_t)length - bytes->size,
                            (off_t)(offset + bytes->size));

        if (got < 0 && errno == EINTR)
            continue;
        if (got <= 0)
            return false;
        bytes->size += (size_t)got;
    }
    return true;
}

static uint64_t hash_of(const struct storage *storage, const struct located *found,
                        struct weir_bytes content)
{
    const char *name = storage_dataset_record_name(found->dataset, found->file);
    WEIR_AUTO_BUF key = {0};

    if (found->dataset->declaration->format->is_one_sample)
        return storage_hash(&storage->secret, HASH_PATH, weir_bytes_of(name));
    weir_buf_append(&key, name, strlen(name) + 1);
    weir_buf_append(&key, content.at, content.size);
    return storage_hash(&storage->secret, HASH_RECORD, weir_buf_view(&key));
}

/* ---- preparing ---- */

static bool is_untouched(int fd, const struct stored_file *file)
{
    struct stat now;

    return fstat(fd, &now) == 0 && now.st_ino == file->inode &&
           (uint64_t)now.st_size >= file->size &&
           ((uint64_t)now.st_size > file->size || file->mtime_ns == 0 ||
            (int64_t)now.st_mtim.tv_sec * 1000000000 + now.st_mtim.tv_nsec == file->mtime_ns);
}

static enum weir_status prepare_one(struct storage *storage, struct open_erasure *erasure,
                                    uint64_t id, struct weir_error *err)
{
    struct located found;
    WEIR_AUTO_BUF content = {0};
    WEIR_AUTO_FREE char *path = NULL;
    WEIR_AUTO_FD int fd = -1;
    enum weir_status status = storage_find(storage, id, &found, err);

    if (status != WEIR_OK || !has_bytes(&found))
        return status;
    if (found.dataset->declaration->format->is_one_sample)
        storage_id_list_add(&erasure->blocked, hash_of(storage, &found, weir_bytes(NULL, 0)));
    path = storage_dataset_path(found.dataset, found.file);
    fd = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
    if (fd < 0 || !is_untouched(fd, found.file) ||
        !read_range(fd, found.offset, &content, found.length)) {
        storage_erasure_remark(erasure, CHANGED);
        return WEIR_OK;
    }
    storage_fingerprints_add(&erasure->prints, &storage->secret, weir_buf_view(&content));
    if (!found.dataset->declaration->format->is_one_sample)
        storage_id_list_add(&erasure->blocked, hash_of(storage, &found, weir_buf_view(&content)));
    return WEIR_OK;
}

/* `blocked` holds hashes of all datasets together: blocking one in a dataset it is not of is harmless. */
static enum weir_status store_blocked(struct storage *storage, const struct open_erasure *erasure,
                                      struct weir_error *err)
{
    enum weir_status status = WEIR_OK;

    for (size_t d = 0; d < storage->catalog->count; d++) {
        const struct dataset *dataset = storage->catalog->datasets[d];

        if (erasure->ids.count == 0 ||
            (erasure->dataset != 0 && erasure->dataset != dataset->number))
            continue;
        for (size_t i = 0; status == WEIR_OK && i < erasure->blocked.count; i++)
            status = DB_RUN(storage->db, Q_blocked_add, NULL, err, DB_I64(dataset->number),
                            DB_I64(erasure->blocked.at[i]));
    }
    return status;
}

static void remember_blocked(struct storage *storage, const struct open_erasure *erasure)
{
    for (size_t d = 0; d < storage->catalog->count; d++) {
        struct dataset *dataset = storage->catalog->datasets[d];

        if (erasure->dataset != 0 && erasure->dataset != dataset->number)
            continue;
        for (size_t i = 0; i < erasure->blocked.count; i++)
            storage_dataset_block(dataset, erasure->blocked.at[i], false);
    }
}

static enum weir_status store_prepared(struct storage *storage, struct open_erasure *erasure,
                                       struct weir_error *err)
{
    WEIR_AUTO_BUF packed = {0};
    enum weir_status status = weir_db_begin(storage->db, err);

    storage_fingerprints_pack(&erasure->prints, &packed);
    if (status == WEIR_OK)
        status = store_blocked(storage, erasure, err);
    if (status == WEIR_OK)
        status = DB_RUN(storage->db, Q_erasure_probes, NULL, err, DB_I64(erasure->number),
                        DB_BYTES(weir_buf_view(&packed)));
    if (status == WEIR_OK)
        status = weir_db_commit(storage->db, err);
    if (status != WEIR_OK)
        weir_db_rollback(storage->db);
    else
        remember_blocked(storage, erasure);
    return status;
}

enum weir_status storage_scrub_prepare(struct storage *storage, struct open_erasure *erasure,
                                       bool *ret_done, struct weir_error *err)
{
    enum weir_status status = WEIR_OK;

    for (size_t i = 0;
         status == WEIR_OK && i < SAMPLES_PER_STEP && erasure->at < erasure->ids.count; i++)
        status = prepare_one(storage, erasure, erasure->ids.at[erasure->at++], err);
    *ret_done = status == WEIR_OK && erasure->at == erasure->ids.count;
    if (!*ret_done)
        return status;
    status = store_prepared(storage, erasure, err);
    erasure->is_prepared = status == WEIR_OK;
    erasure->at = 0;
    return status;
}

/* ---- overwriting ---- */

static enum weir_status sync_parent(struct open_erasure *erasure, struct weir_error *err)
{
    enum weir_status status = WEIR_OK;

    if (erasure->parent)
        status = weir_sync_parent(erasure->parent, err);
    free(erasure->parent);
    erasure->parent = NULL;
    return status == WEIR_NOT_FOUND ? WEIR_OK : status;
}

/* Unlinked files of one folder are synced together: remembers a path of it. */
static enum weir_status sync_later(struct open_erasure *erasure, const char *path,
                                   struct weir_error *err)
{
    size_t size = (size_t)(strrchr(path, '/') - path) + 1;
    enum weir_status status = WEIR_OK;

    if (erasure->parent && strncmp(erasure->parent, path, size) == 0 &&
        !strchr(erasure->parent + size, '/'))
        return WEIR_OK;
    status = sync_parent(erasure, err);
    erasure->parent = weir_strdup(path);
    return status;
}

static enum weir_status unlink_sample(struct open_erasure *erasure, const struct located *found,
                                      const char *path, struct weir_error *err)
{
    struct stat now;

    if (lstat(path, &now) < 0) {
        if (errno != ENOENT && errno != ENOTDIR)
            return weir_fail(err, WEIR_IO, "cannot look at a file to be erased: %s",
                             strerror(errno));
    } else if (now.st_ino != found->file->inode) {
        storage_erasure_remark(erasure, CHANGED);
        return WEIR_OK;
    } else if (unlink(path) < 0) {
        return weir_fail(err, WEIR_IO, "cannot unlink a file to be erased: %s", strerror(errno));
    }
    erasure->files_scrubbed++;
    erasure->bytes_scrubbed += found->length;
    return sync_later(erasure, path, err);
}

static bool is_as_erased(int fd, const struct extent *extent)
{
    WEIR_AUTO_BUF now = {0};
    struct weir_error err;

    return storage_range_read(fd, extent->at, &now, &err) == WEIR_OK &&
           weir_bytes_equal(weir_buf_view(&now), weir_buf_view(&extent->erased));
}

/* A death can stop it between any two pages. */
static bool overwrite_bytes(int fd, const struct extent *extent)
{
    const struct weir_buf *erased = &extent->erased;

    for (size_t at = 0; at < erased->size; at += PIECE_BYTES) {
        size_t size = erased->size - at < PIECE_BYTES ? erased->size - at : PIECE_BYTES;

        if (pwrite(fd, erased->at + at, size, (off_t)(extent->at.offset + at)) != (ssize_t)size ||
            weir_fault("storage.erase.overwrite"))
            return false;
    }
    return true;
}

/* Overwrites the range and keeps the file's mtime: its other samples have not changed. */
static enum weir_status overwrite(struct storage *storage, int fd, const struct located *found,
                                  const struct extent *extent, struct weir_error *err)
{
    struct timespec times[2] = {{.tv_nsec = UTIME_OMIT}};
    struct stat before;
    struct scrub_intent intent = {.payload = {found->offset, found->length}, .extent = extent->at};
    enum weir_status status = WEIR_OK;

    if (fstat(fd, &before) < 0)
        return weir_fail(err, WEIR_IO, "cannot look at a file to be scrubbed: %s", strerror(errno));
    intent.device = before.st_dev;
    intent.inode = before.st_ino;
    times[1] = before.st_mtim;
    if ((uint64_t)before.st_size ==
        found->file->size) /* also after a death between the next lines */
        times[1] = (struct timespec){.tv_sec = found->file->mtime_ns / 1000000000,
                                     .tv_nsec = found->file->mtime_ns % 1000000000};
    if (!is_as_erased(fd, extent)) {
        status = storage_scrub_intend(storage->data_dir, &intent, err);
        if (status != WEIR_OK)
            return status;
        if (!overwrite_bytes(fd, extent))
            return weir_fail(err, WEIR_IO, "cannot overwrite erased bytes: %s", strerror(errno));
    }
    if (futimens(fd, times) < 0 || fdatasync(fd) < 0)
        return weir_fail(err, WEIR_IO, "cannot overwrite erased bytes: %s", strerror(errno));
    return WEIR_OK;
}

/* The end of the payload of the sample before it in the same file; 0: there is none. */
static uint64_t end_before(struct storage *storage, const struct located *found, uint64_t id)
{
    struct located before;
    struct weir_error err;

    if (weir_sample_row(id) == 0 || storage_find(storage, id - 1, &before, &err) != WEIR_OK ||
        before.file != found->file || before.offset >= found->offset)
        return 0;
    return before.offset + before.length;
}

/* False when other bytes than the sample's are there now. */
static bool is_what_was_meant(const struct storage *storage, const struct located *found, int fd,
                              const struct extent *extent)
{
    WEIR_AUTO_BUF content = {0};
    struct weir_error err;

    if (found->dataset->declaration->format->is_one_sample || extent->is_scrubbed ||
        is_as_erased(fd, extent))
        return true;
    return storage_range_read(fd, (struct format_range){found->offset, found->length}, &content,
                              &err) == WEIR_OK &&
           storage_dataset_blocked(found->dataset,
                                   hash_of(storage, found, weir_buf_view(&content)));
}

/* What belongs to the sample, as it is or as a death left it; false when other bytes are there now. */
static bool find_extent(const struct storage *storage, const struct located *found, uint64_t from,
                        int fd, struct extent *ret_extent)
{
    const struct declaration *d = found->dataset->declaration;
    const struct format_range payload = {found->offset, found->length};
    struct extent_place place = {.fd = fd, .from = from, .payload = payload};
    struct scrub_intent intent;
    struct weir_error err;
    struct stat now;

    if (fstat(fd, &now) < 0 || now.st_ino != found->file->inode)
        return false;
    place.size = (uint64_t)now.st_size;
    if (storage_scrub_intended(storage->data_dir, &intent) && intent.device == now.st_dev &&
        intent.inode == now.st_ino && intent.payload.offset == payload.offset &&
        intent.payload.length == payload.length)
        return storage_extent_resume(d, &place, intent.extent, ret_extent, &err) == WEIR_OK;
    return storage_extent_read(d, &place, ret_extent, &err) == WEIR_OK &&
           is_what_was_meant(storage, found, fd, ret_extent);
}

static enum weir_status overwrite_sample(struct storage *storage, struct open_erasure *erasure,
                                         const struct located *found, uint64_t from,
                                         const char *path, struct weir_error *err)
{
    const struct declaration *d = found->dataset->declaration;
    WEIR_AUTO_FD int fd = open(path, O_RDWR | O_CLOEXEC | O_NOFOLLOW);
    struct extent extent = {0};
    enum weir_status status = WEIR_OK;

    if (fd < 0 && errno != ENOENT && errno != ENOTDIR)
        return weir_fail(err, WEIR_IO, "cannot open a file to be scrubbed: %s", strerror(errno));
    if (fd < 0 || !find_extent(storage, found, from, fd, &extent)) {
        storage_extent_fini(&extent);
        storage_erasure_remark(erasure, CHANGED);
        return WEIR_OK;
    }
    status = overwrite(storage, fd, found, &extent, err);
    if (status == WEIR_OK && !is_as_erased(fd, &extent))
        erasure->not_gone++;
    if (status == WEIR_OK && !d->is_copied && !d->format->is_one_sample)
        found->file->prefix_hash = storage_prefix_hash(&storage->secret, fd, found->file->indexed);
    erasure->files_scrubbed++;
    erasure->bytes_scrubbed += extent.at.length;
    storage_extent_fini(&extent);
    return status;
}

/* Where the source itself is erased, what stands beside the sample goes with it. */
static enum weir_status unlink_sidecar(struct open_erasure *erasure, const struct located *found,
                                       struct weir_error *err)
{
    const struct declaration *d = found->dataset->declaration;
    WEIR_AUTO_FREE char *beside = NULL;
    WEIR_AUTO_FREE char *path = NULL;

    if (!d->wants_sidecar || d->is_copied)
        return WEIR_OK;
    beside = storage_sidecar_path(found->dataset, found->file->path);
    path = weir_format("%s/%s", found->dataset->root, beside);
    if (unlink(path) < 0 && errno != ENOENT && errno != ENOTDIR)
        return weir_fail(err, WEIR_IO, "cannot unlink what stands beside an erased file: %s",
                         strerror(errno));
    return sync_later(erasure, path, err);
}

/* What was read from elsewhere is still there. */
static void remark_source(struct open_erasure *erasure, const struct dataset *dataset)
{
    const struct declaration *d = dataset->declaration;
    WEIR_AUTO_FREE char *remark = NULL;

    if (d->is_copied && !d->is_pushed)
        remark = weir_format("dataset '%s' was imported by copy: the source folder %s is outside "
                             "Weir's reach and was not changed",
                             dataset->name, dataset->root);
    if (remark)
        storage_erasure_remark(erasure, remark);
}

static enum weir_status scrub_one(struct storage *storage, struct open_erasure *erasure,
                                  uint64_t id, struct weir_error *err)
{
    struct located found;
    WEIR_AUTO_FREE char *path = NULL;
    enum weir_status status = storage_find(storage, id, &found, err);

    if (status != WEIR_OK || !has_bytes(&found))
        return status;
    remark_source(erasure, found.dataset);
    status = unlink_sidecar(erasure, &found, err);
    if (status != WEIR_OK)
        return status;
    path = storage_dataset_path(found.dataset, found.file);
    if (found.dataset->declaration->on_erase == ON_ERASE_UNLINK)
        return unlink_sample(erasure, &found, path, err);
    return overwrite_sample(storage, erasure, &found, end_before(storage, &found, id), path, err);
}

enum weir_status storage_scrub_bytes(struct storage *storage, struct open_erasure *erasure,
                                     bool *ret_done, struct weir_error *err)
{
    enum weir_status status = WEIR_OK;

    for (size_t i = 0;
         status == WEIR_OK && i < SAMPLES_PER_STEP && erasure->at < erasure->ids.count; i++)
        status = scrub_one(storage, erasure, erasure->ids.at[erasure->at++], err);
    *ret_done = status == WEIR_OK && erasure->at == erasure->ids.count;
    if (!*ret_done)
        return status;
    storage_scrub_intend_nothing(storage->data_dir);
    return sync_parent(erasure, err);
}
