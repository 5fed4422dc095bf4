/* Scrubbing of the bytes of erased samples. Everything here can be repeated after a death: what was
 * overwritten is recognised, and nothing is overwritten that is not what was erased. */
#include "storage/erasure/erasure_record.h"

#include "core/base/file.h"
#include "core/base/memory.h"
#include "storage/catalog/guard.h"
#include "storage/files/copy.h"
#include "storage/files/extent.h"
#include "storage/files/owned.h"
#include "storage/files/place.h"
#include "storage/files/prefix.h"
#include "storage/files/scrub_intent.h"
#include "storage/files/sidecar.h"
#include "storage/objects/s3_ranges.h"
#include "storage/objects/s3_shell.h"
#include "storage/records/key_identify.h"
#include "storage/sql/queries.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* ---- what stands in the way ---- */

static const struct {
    int error;
    const char *advice;
} ADVICE[] = {
    {EACCES,
     "let the user that Weir runs as own it, or at least read and write it, and write into its folder"},
    {EPERM,
     "let the user that Weir runs as own it, or at least read and write it, and write into its folder"},
    {EROFS, "mount that file system for writing"},
    {ENOSPC, "free space there"},
    {EDQUOT, "free space there"},
    {ELOOP,
     "nothing behind a symbolic link is touched: put back what the link replaced, or wait for the "
     "next scan, which sees that it is gone"},
    {EXDEV, "its source lies in none of `roots` of the system file, or leads out of them: put the "
            "folder back, or add it there"},
};

enum weir_status storage_scrub_stuck(struct erasure_record *erasure, const char *path,
                                     const char *what, struct weir_error *err)
{
    const char *advice = "see to the disk or file system that it is on";

    erasure->round.error = errno;
    for (size_t i = 0; i < WEIR_COUNT(ADVICE); i++) {
        if (ADVICE[i].error == errno)
            advice = ADVICE[i].advice;
    }
    return weir_fail(err, WEIR_IO, "%.250s cannot be %s: %s; %s", path, what, strerror(errno),
                     advice);
}

static bool is_missing(int error)
{
    return error == ENOENT || error == ENOTDIR;
}

/* IO: nobody can say what became of the sample, and it is not called scrubbed. */
static enum weir_status fail_unidentified(struct erasure_record *erasure, const char *path,
                                          struct weir_error *err)
{
    errno = ESTALE;
    erasure->round.error = errno;
    return weir_fail(
        err, WEIR_IO,
        "%.250s is not the file that Weir wrote there, or does not hold the sample any "
        "more: put that file back from a backup, or remove what is there",
        path);
}

/* The same of a source that is only referred to, until a scan has looked at it: storage_scrub_lost() goes on. */
static enum weir_status fail_changed(struct erasure_record *erasure, const char *path,
                                     struct weir_error *err)
{
    errno = ESTALE;
    erasure->round.error = errno;
    return weir_fail(err, WEIR_IO,
                     "%.250s has changed since it was indexed, so that nothing in it was "
                     "overwritten; the next scan looks at it, at the latest once it is touched",
                     path);
}

/* The file is in its place, and the record is not: what was erased may stand anywhere. */
static enum weir_status fail_exchanged(struct erasure_record *erasure, const char *path,
                                       struct weir_error *err)
{
    errno = ESTALE;
    erasure->round.error = errno;
    return weir_fail(
        err, WEIR_IO,
        "%.250s is not what its checksums say, and the record in the place of the sample is not "
        "known as that sample, so that nothing of it was overwritten: it may be another's, and "
        "the sample elsewhere; put back the file that Weir wrote there, and any that it was "
        "exchanged with, or remove it if it is only damaged",
        path);
}

static enum weir_status fail_unproven(struct erasure_record *erasure, const char *path,
                                      struct weir_error *err)
{
    errno = ESTALE;
    erasure->round.error = errno;
    return weir_fail(
        err, WEIR_IO,
        "%.250s had no checksum yet when this store was copied, restored or moved, and its source "
        "no longer shows what was copied, so that nothing says that the sample is still in its "
        "place, and nothing of it was overwritten: look at the file, and remove it if it holds the "
        "sample, or restore the store from where it had its checksums",
        path);
}

/* A file of Weir's own is the one in its place, whatever its inode; NOT_FOUND when it is gone. */
static enum weir_status recognise(struct erasure_record *erasure, const struct located *found,
                                  const char *path, struct weir_error *err)
{
    enum owned_state state = storage_owns(found->dataset)
                                 ? storage_owned_recognise(found->dataset, found->file)
                                 : OWNED_SAME;

    if (state == OWNED_OTHER)
        return fail_unidentified(erasure, path, err);
    if (state == OWNED_RECOGNISED)
        found->file->group->is_ahead = true; /* written with the rows of the erasure */
    return state == OWNED_GONE ? WEIR_NOT_FOUND : WEIR_OK;
}

/* The sample does not stand where it was indexed. */
static enum weir_status miss(struct erasure_record *erasure, const struct located *found,
                             const char *path, struct weir_error *err)
{
    return storage_owns(found->dataset) ? fail_unidentified(erasure, path, err)
                                        : fail_changed(erasure, path, err);
}

bool storage_scrub_has_bytes(const struct located *found)
{
    return found->file != NULL && found->file->path != NULL && found->file->state == FILE_LIVE;
}

/* A scan has noticed before that the file of the sample was removed or replaced. Objects of buckets have versions:
 * s3_pending.c looks after those. */
static bool is_lost(const struct located *found)
{
    return found->file != NULL && !found->dataset->declaration->is_mirrored &&
           (found->file->state == FILE_REMOVED || found->file->state == FILE_REPLACED);
}

/* ---- what stays out ---- */

/* The beginning of its file, which says what the fields of a record are called; empty when that cannot be read. */
static struct weir_bytes head_of(const struct located *found, struct file_window *window)
{
    const struct declaration *d = found->dataset->declaration;
    struct weir_bytes head;
    struct weir_error err;

    if (d->format->canonical == NULL || d->is_remote ||
        storage_window_head(window, d->format, found->file->size, &head, &err) != WEIR_OK)
        return weir_bytes(NULL, 0);
    return head;
}

/* The hash must not come in again; it is stored with the page at the latest. */
static void block(struct erasure_record *erasure, const struct dataset *dataset, uint64_t hash)
{
    storage_id_list_add(&erasure->blocked, hash);
    storage_id_list_add(&erasure->blocked_in, dataset->number);
}

/* Keeps the content of the sample from coming again, whatever else is said of it then. */
static void block_key(struct eraser *eraser, struct erasure_record *erasure,
                      const struct located *found)
{
    struct key_identity identity;

    if (!found->dataset->declaration->has_key)
        return;
    identity = storage_scrub_identify(eraser, erasure, found);
    if (identity.has_key)
        block(erasure, found->dataset,
              storage_guard_key(&eraser->store->secret, &identity.key,
                                identity.has_subject ? &identity.subject : NULL));
}

/* Objects of buckets are written again by what stood where. */
static bool wants_place(const struct declaration *d)
{
    return d->is_remote ||
           (d->is_mirrored && !(d->format->is_one_sample && d->on_erase == ON_ERASE_UNLINK));
}

void storage_scrub_block_source(struct store *store, struct erasure_record *erasure,
                                const struct located *found)
{
    const struct stored_file *file = found->file;
    WEIR_AUTO_FREE char *path = weir_format("%s/%s", found->dataset->root, file->path);
    struct stat now;

    if (lstat(path, &now) == 0 && (uint64_t)now.st_size == file->size &&
        weir_mtime_ns(&now) == file->mtime_ns && now.st_ino == file->source_inode)
        block(erasure, found->dataset,
              storage_guard_file(&store->secret, file, file->path, weir_ctime_ns(&now)));
}

static void block_file(struct store *store, struct erasure_record *erasure,
                       const struct located *found)
{
    const struct declaration *d = found->dataset->declaration;

    if (!d->format->is_one_sample)
        return;
    storage_scrub_block_source(store, erasure, found);
    if (wants_place(d))
        block(erasure, found->dataset,
              storage_guard_place(&store->secret, found->dataset, found->file->path,
                                  weir_bytes(NULL, 0)));
}

static void block_record(struct eraser *eraser, struct erasure_record *erasure,
                         const struct located *found, struct weir_bytes head,
                         struct weir_bytes content)
{
    const struct declaration *d = found->dataset->declaration;
    const struct storage_secret *secret = &eraser->store->secret;
    WEIR_AUTO_BUF blank = {0};

    block(erasure, found->dataset, storage_guard_content(secret, d, head, content));
    if (wants_place(d))
        block(erasure, found->dataset,
              storage_guard_place(secret, found->dataset, found->file->path, content));
    block_key(eraser, erasure, found);
    if (!d->format->is_one_sample || d->on_erase != ON_ERASE_SCRUB)
        return;
    weir_buf_reserve(&blank, content.size);
    memset(blank.at, d->format->scrub_byte, content.size); /* what will stand there */
    blank.size = content.size;
    block(erasure, found->dataset, storage_guard_content(secret, d, head, weir_buf_view(&blank)));
}

/* ---- preparing ---- */

/* A source that has become longer was appended to, or written again. */
static bool is_untouched(const struct store *store, const struct located *found, int fd)
{
    const struct stored_file *file = found->file;
    struct stat now;

    if (fstat(fd, &now) < 0 || now.st_ino != file->inode || (uint64_t)now.st_size < file->size)
        return false;
    if ((uint64_t)now.st_size > file->size)
        return storage_owns(found->dataset) ||
               storage_file_has_grown(found->dataset, &store->secret, file);
    return file->mtime_ns == 0 || weir_mtime_ns(&now) == file->mtime_ns;
}

/* Reads the bytes that were fetched for it. NOT_FOUND when its object is another one by now; IO when the bucket
 * does not answer: the erasure comes back to it. */
static enum weir_status read_object(struct eraser *eraser, struct erasure_record *erasure,
                                    const struct located *found, struct weir_buf *content,
                                    struct weir_error *err)
{
    const struct s3_span span = {.dataset = found->dataset,
                                 .file = found->file,
                                 .offset = found->offset,
                                 .length = found->length};

    weir_buf_reserve(content, found->length + 1);
    content->size = found->length;
    if (storage_s3_ranges_read(eraser->from->objects, &span, content->at))
        return WEIR_OK;
    if (erasure->fetch.why == NULL)
        return WEIR_NOT_FOUND;
    erasure->round.error = EHOSTUNREACH;
    return weir_fail(err, WEIR_IO, "s3://%.100s/%.100s cannot be read: %s",
                     found->dataset->declaration->s3.bucket, found->dataset->declaration->s3.prefix,
                     erasure->fetch.why);
}

/* Returns the number of passages of a sample: fewer for many samples, to bound the search, but at least one. */
static size_t passages_of(const struct erasure_record *erasure)
{
    uint64_t each = PRINTS_MAX / (erasure->samples + 1);

    return each < 1 ? 1 : each > PASSAGES_PER_SAMPLE ? PASSAGES_PER_SAMPLE : (size_t)each;
}

static void close_source(struct scrub_source *source)
{
    if (source->path != NULL)
        close(source->window.fd);
    free(source->path);
    storage_window_fini(&source->window);
    source->path = NULL;
}

void storage_scrub_look_end(struct erasure_record *erasure)
{
    close_source(&erasure->source);
    storage_scrub_proof_end(erasure);
}

/* Opens the file of the sample, unless it is the one that is open: it is what was indexed. NOT_FOUND when it is gone,
 * as is remarked when it is to be overwritten. */
static enum weir_status open_source(struct store *store, struct erasure_record *erasure,
                                    const struct located *found, struct weir_error *err)
{
    WEIR_AUTO_FREE char *path = storage_dataset_path(found->dataset, found->file);
    WEIR_AUTO_FD int fd = -1;
    enum weir_status status;

    if (erasure->source.path != NULL && strcmp(erasure->source.path, path) == 0)
        return WEIR_OK;
    close_source(&erasure->source);
    /* O_NONBLOCK: a pipe that took the file's place must not hold storage up. */
    fd = storage_place_open(found->dataset, found->file, O_RDONLY | O_NONBLOCK);
    if (fd < 0)
        return is_missing(errno) ? WEIR_NOT_FOUND : storage_scrub_stuck(erasure, path, "read", err);
    status = recognise(erasure, found, path, err);
    if (status == WEIR_OK && !is_untouched(store, found, fd))
        status = miss(erasure, found, path, err);
    if (status != WEIR_OK)
        return status;
    erasure->source.path = WEIR_TAKE(path);
    erasure->source.window = (struct file_window){.fd = fd};
    fd = -1;
    return WEIR_OK;
}

/* Its bytes, in the window or, from a bucket, in `object`. NOT_FOUND when other bytes are there now. */
static enum weir_status read_sample(struct eraser *eraser, struct erasure_record *erasure,
                                    const struct located *found, struct weir_buf *object,
                                    struct weir_bytes *ret_content, struct weir_error *err)
{
    struct scrub_source *source = &erasure->source;
    uint64_t reads;
    enum weir_status status;

    if (found->dataset->declaration->is_remote) {
        status = read_object(eraser, erasure, found, object, err);
        *ret_content = weir_buf_view(object);
        return status;
    }
    reads = source->window.reads;
    status = storage_window_read(
        &source->window, (struct format_range){found->offset, found->length}, ret_content, err);
    if (status != WEIR_OK && errno != 0)
        return storage_scrub_stuck(erasure, source->path, "read", err);
    /* Somebody may have written the file again since it was opened. */
    if (status == WEIR_OK && source->window.reads != reads &&
        !is_untouched(eraser->store, found, source->window.fd))
        return WEIR_NOT_FOUND;
    return status == WEIR_OK ? WEIR_OK : WEIR_NOT_FOUND;
}

/* Keeps out what was read, and notes what to search for. */
static void take_sample(struct eraser *eraser, struct erasure_record *erasure,
                        const struct located *found, uint64_t id, struct weir_bytes content)
{
    storage_fingerprints_add(&storage_page_row(&erasure->page, id)->prints, &eraser->store->secret,
                             passages_of(erasure), content);
    block_record(eraser, erasure, found, head_of(found, &erasure->source.window), content);
}

enum weir_status storage_scrub_look(struct eraser *eraser, struct erasure_record *erasure,
                                    uint64_t id, struct weir_error *err)
{
    struct located found;
    WEIR_AUTO_BUF object = {0};
    struct weir_bytes content;
    enum scrub_verdict verdict;
    enum weir_status status = storage_find(eraser->store, id, &found, err);

    if (status == WEIR_OK && is_lost(&found))
        storage_scrub_remark_gone(erasure, &found, id);
    if (status != WEIR_OK || !storage_scrub_has_bytes(&found))
        return status;
    block_file(eraser->store, erasure, &found);
    status = open_source(eraser->store, erasure, &found, err);
    if (status == WEIR_NOT_FOUND && found.dataset->declaration->on_erase == ON_ERASE_UNLINK)
        storage_scrub_remark_gone(erasure, &found, id);
    if (status != WEIR_OK)
        return status == WEIR_NOT_FOUND ? WEIR_OK : status;
    status = read_sample(eraser, erasure, &found, &object, &content, err);
    if (status == WEIR_NOT_FOUND)
        return miss(erasure, &found, erasure->source.path, err);
    if (status == WEIR_OK)
        status = storage_scrub_prove(eraser, erasure, &found, id, &verdict, err);
    if (status != WEIR_OK)
        return status;
    if (verdict == SCRUB_OTHER)
        return fail_exchanged(erasure, erasure->source.path, err);
    if (verdict == SCRUB_UNPROVEN)
        return fail_unproven(erasure, erasure->source.path, err);
    if (verdict == SCRUB_OWN)
        take_sample(eraser, erasure, &found, id, content);
    return WEIR_OK;
}

enum weir_status storage_scrub_store_blocked(struct store *store, struct erasure_record *erasure,
                                             struct weir_error *err)
{
    struct id_list *hashes = &erasure->blocked, *datasets = &erasure->blocked_in;
    enum weir_status status = WEIR_OK;

    if (hashes->count > 0)
        status = DB_RUN(store->db, Q_blocked_add_pairs, NULL, err,
                        DB_I64S(datasets->at, datasets->count), DB_I64S(hashes->at, hashes->count));
    if (status != WEIR_OK)
        return status;
    for (size_t i = 0; i < hashes->count; i++)
        storage_dataset_block(storage_catalog_at(store->catalog, datasets->at[i]), hashes->at[i],
                              false);
    hashes->count = datasets->count = 0;
    return WEIR_OK;
}

/* ---- overwriting ---- */

/* Syncs the folder of unlinked files; while that fails it stays to be synced. Of copies it goes if nothing is left in
 * it: its name may be a person's. */
static enum weir_status sync_parent(struct erasure_record *erasure, struct weir_error *err)
{
    enum weir_status status = WEIR_OK;

    if (erasure->parent != NULL) {
        storage_copy_prune(erasure->parent, erasure->kept);
        status = weir_sync_parent(erasure->parent, err);
    }
    if (status != WEIR_OK && status != WEIR_NOT_FOUND)
        return storage_scrub_stuck(erasure, erasure->parent, "unlinked for good", err);
    free(erasure->parent);
    erasure->parent = NULL;
    return WEIR_OK;
}

enum weir_status storage_scrub_sync(struct erasure_record *erasure, struct weir_error *err)
{
    struct scrub_target *target = &erasure->target;
    enum weir_status status = sync_parent(erasure, err);

    storage_scrub_group_end(erasure);
    if (target->path != NULL)
        close(target->window.fd);
    storage_window_fini(&target->window);
    free(target->path);
    target->path = NULL;
    return status;
}

/* Unlinked files of one folder are synced together: remembers a path of it. */
static enum weir_status sync_later(struct erasure_record *erasure, const struct dataset *dataset,
                                   const char *path, struct weir_error *err)
{
    size_t size = (size_t)(strrchr(path, '/') - path) + 1;
    enum weir_status status = WEIR_OK;

    if (erasure->parent != NULL && strncmp(erasure->parent, path, size) == 0 &&
        strchr(erasure->parent + size, '/') == NULL)
        return WEIR_OK;
    status = sync_parent(erasure, err);
    erasure->parent = weir_strdup(path);
    erasure->kept = dataset->declaration->is_copied ? strlen(dataset->copies) + 1 : strlen(path);
    return status;
}

static enum weir_status unlink_sample(struct erasure_record *erasure, const struct located *found,
                                      uint64_t id, const char *path, struct weir_error *err)
{
    struct page_row *row = storage_page_row(&erasure->page, id);
    const char *name;
    WEIR_AUTO_FD int folder = storage_place_folder(found->dataset, found->file, &name);
    struct stat now;

    if (folder < 0 || fstatat(folder, name, &now, AT_SYMLINK_NOFOLLOW) < 0) {
        if (!is_missing(errno))
            return storage_scrub_stuck(erasure, path, "unlinked", err);
        storage_scrub_remark_missing(erasure, found, id);
        return sync_later(erasure, found->dataset, path, err);
    } else if (now.st_ino != found->file->inode) {
        return miss(erasure, found, path, err);
    } else if (unlinkat(folder, name, 0) < 0) {
        return storage_scrub_stuck(erasure, path, "unlinked", err);
    }
    storage_page_row_scrubbed(row, found->dataset, storage_file_number(found->file), found->length);
    return sync_later(erasure, found->dataset, path, err);
}

/* The end of the payload of the sample before it in the same file; 0: there is none. */
static uint64_t end_before(struct store *store, const struct located *found, uint64_t id)
{
    struct file_group *group = found->file->group;
    struct located before;
    struct weir_error err;
    bool is_there;

    storage_file_pin(group);
    is_there = weir_sample_row(id) != 0 && storage_find(store, id - 1, &before, &err) == WEIR_OK &&
               before.file == found->file && before.offset < found->offset;
    storage_file_unpin(group);
    return is_there ? before.offset + before.length : 0;
}

/* False when other bytes than the sample's are there now. */
static bool is_what_was_meant(const struct store *store, struct erasure_record *erasure,
                              const struct located *found, const struct extent *extent)
{
    struct file_window *window = &erasure->target.window;
    struct weir_bytes content;
    struct weir_error err;

    if (found->dataset->declaration->format->is_one_sample || extent->is_scrubbed ||
        storage_scrub_is_done(window, extent))
        return true;
    return storage_window_read(window, (struct format_range){found->offset, found->length},
                               &content, &err) == WEIR_OK &&
           storage_guard_blocked(&store->secret, found->dataset, found->file->path,
                                 head_of(found, window), content);
}

/* Returns the intent that a death, or an error, left of the sample, or NULL. Most files have none. */
static const struct scrub_intent *find_half_way(const struct store *store,
                                                struct scrub_target *target,
                                                struct format_range payload)
{
    if (target->half_way == NULL) {
        target->half_way = weir_calloc(SCRUB_INTENTS_MAX, sizeof(*target->half_way));
        target->half_way_count =
            storage_scrub_intents_of(store->data_dir, &target->seen, target->half_way);
    }
    for (size_t i = 0; i < target->half_way_count; i++) {
        if (target->half_way[i].payload.offset == payload.offset &&
            target->half_way[i].payload.length == payload.length)
            return &target->half_way[i];
    }
    return NULL;
}

/* Reads the bytes of the sample, as they are or as a death left them; false when other bytes are there now. */
static bool is_there(const struct eraser *eraser, struct erasure_record *erasure,
                     const struct located *found, uint64_t from, struct extent *ret_extent)
{
    const struct declaration *d = found->dataset->declaration;
    struct scrub_target *target = &erasure->target;
    struct extent_place place = {.window = &target->window,
                                 .size = (uint64_t)target->seen.st_size,
                                 .from = from,
                                 .payload = {found->offset, found->length}};
    const struct scrub_intent *intent;
    struct weir_error err;

    if (target->seen.st_ino != found->file->inode)
        return false;
    intent = find_half_way(eraser->store, target, place.payload);
    if (intent != NULL)
        return storage_extent_resume(d, &place, intent->extent, ret_extent, &err) == WEIR_OK;
    return storage_extent_read(d, &place, ret_extent, &err) == WEIR_OK &&
           is_what_was_meant(eraser->store, erasure, found, ret_extent);
}

static bool is_target(const struct scrub_target *target, const char *path)
{
    return target->path != NULL && strcmp(target->path, path) == 0;
}

/* Records of one file come one after the other: it is opened, and synced, once for many. */
static enum weir_status open_target(struct eraser *eraser, struct erasure_record *erasure,
                                    const struct located *found, const char *path,
                                    struct weir_error *err)
{
    struct scrub_target *target = &erasure->target;
    enum weir_status status = WEIR_OK;
    int fd;

    if (is_target(target, path))
        return WEIR_OK;
    status = storage_scrub_sync(erasure, err);
    if (status != WEIR_OK)
        return status;
    fd = storage_place_open(found->dataset, found->file, O_RDWR | O_NONBLOCK);
    if (fd < 0 && is_missing(errno))
        return WEIR_NOT_FOUND;
    if (fd < 0)
        return storage_scrub_stuck(erasure, path, "opened for writing", err);
    target->eraser = eraser;
    target->window = (struct file_window){.fd = fd};
    target->path = weir_strdup(path);
    if (fstat(fd, &target->seen) < 0)
        return storage_scrub_stuck(erasure, path, "looked at", err);
    return WEIR_OK;
}

/* OK without an extent: the file is only referred to, and is not the one that was indexed, or holds something else
 * there. */
static enum weir_status find_extent(struct eraser *eraser, struct erasure_record *erasure,
                                    const struct located *found, uint64_t id,
                                    struct extent *ret_extent, struct weir_error *err)
{
    uint64_t from = end_before(eraser->store, found, id);

    errno = 0;
    if (is_there(eraser, erasure, found, from, ret_extent))
        return WEIR_OK;
    if (errno == EIO)
        return storage_scrub_stuck(erasure, erasure->target.path, "read", err);
    return miss(erasure, found, erasure->target.path, err);
}

static enum weir_status overwrite_sample(struct eraser *eraser, struct erasure_record *erasure,
                                         const struct located *found, uint64_t id, const char *path,
                                         struct weir_error *err)
{
    struct extent extent = {0};
    enum weir_status status = open_target(eraser, erasure, found, path, err);

    if (status == WEIR_OK)
        status = find_extent(eraser, erasure, found, id, &extent, err);
    if (status == WEIR_OK && extent.erased.size > 0)
        status = storage_scrub_open_extent(eraser, erasure, found, extent.at, err);
    if (status == WEIR_OK && extent.erased.size > 0)
        storage_scrub_group_add(erasure, found, id, &extent);
    storage_extent_fini(&extent);
    if (status != WEIR_NOT_FOUND)
        return status;
    storage_scrub_remark_gone(erasure, found, id);
    return WEIR_OK;
}

/* Erases the file beside a sample whose source itself is erased. */
static enum weir_status unlink_sidecar(struct erasure_record *erasure, const struct located *found,
                                       struct weir_error *err)
{
    const struct declaration *d = found->dataset->declaration;
    WEIR_AUTO_FREE char *beside = NULL;
    WEIR_AUTO_FREE char *path = NULL;

    if (!d->wants_sidecar || d->is_copied)
        return WEIR_OK;
    beside = storage_sidecar_path(found->dataset, found->file->path);
    path = weir_format("%s/%s", found->dataset->root, beside);
    if (storage_sidecar_unlink(found->dataset, found->file) < 0 && !is_missing(errno))
        return errno == ESTALE ? miss(erasure, found, path, err)
                               : storage_scrub_stuck(erasure, path, "unlinked", err);
    return sync_later(erasure, found->dataset, path, err);
}

enum weir_status storage_scrub_one(struct eraser *eraser, struct erasure_record *erasure,
                                   uint64_t id, struct weir_error *err)
{
    struct located found;
    WEIR_AUTO_FREE char *path = NULL;
    enum weir_status status = storage_find(eraser->store, id, &found, err);

    if (status == WEIR_OK && is_lost(&found)) {
        storage_scrub_remark_missing(erasure, &found, id);
        return storage_scrub_lost(eraser->store, erasure, &found, id, err);
    }
    if (status != WEIR_OK || !storage_scrub_has_bytes(&found))
        return status;
    storage_scrub_remark_source(erasure, id, found.dataset);
    status = unlink_sidecar(erasure, &found, err);
    if (status != WEIR_OK)
        return status;
    path = storage_dataset_path(found.dataset, found.file);
    if (!is_target(&erasure->target, path))
        status = recognise(erasure, &found, path, err);
    if (status == WEIR_NOT_FOUND && found.dataset->declaration->on_erase != ON_ERASE_UNLINK)
        storage_scrub_remark_gone(erasure, &found, id);
    if (status != WEIR_OK && status != WEIR_NOT_FOUND)
        return status;
    if (found.dataset->declaration->is_remote)
        storage_s3_ranges_forget(eraser->from->objects, found.dataset, found.file->path);
    if (found.dataset->declaration->on_erase == ON_ERASE_UNLINK)
        return unlink_sample(erasure, &found, id, path, err);
    if (found.dataset->declaration->is_remote) /* the object is written again without it */
        return storage_s3_shell_empty(path, err) == WEIR_OK
                   ? WEIR_OK
                   : storage_scrub_stuck(erasure, path, "overwritten", err);
    return overwrite_sample(eraser, erasure, &found, id, path, err);
}
