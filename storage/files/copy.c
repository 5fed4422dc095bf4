/* Owned copies: see copy.h. */
#include "storage/files/copy.h"

#include "core/base/file.h"
#include "core/base/full_disk.h"
#include "core/base/log.h"
#include "core/base/memory.h"
#include "storage/catalog/known.h"
#include "storage/files/listing.h"
#include "storage/files/source.h"

#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { PIECE_BYTES = 256 << 10, FOLDERS_OPEN_MAX = 16 };

/* One file at a time is made in a dataset: it needs no name of its own. */
static char *incoming_path(const struct dataset *dataset)
{
    return weir_format("%s/.incoming", dataset->copies);
}

static enum weir_status fail_errno(struct weir_error *err, const char *what, const char *path)
{
    int code = errno;

    return weir_fail(err, code == ENOENT ? WEIR_STALE : WEIR_IO, "%s: cannot %s: %s", path, what,
                     strerror(code));
}

enum weir_status storage_copies_fail(const char *copies, const char *what, struct weir_error *err)
{
    int code = errno;

    return weir_fail(err, code == ENOENT ? WEIR_STALE : WEIR_IO, "%s: %s: %s%s", copies, what,
                     strerror(code), weir_disk_advice(code));
}

static enum weir_status fail_write(struct weir_error *err, const char *copies)
{
    return storage_copies_fail(copies, "copies cannot be written", err);
}

static enum weir_status check_unchanged(const struct dataset *dataset, const char *path,
                                        const struct stat *found, int fd, struct weir_error *err)
{
    struct stat now;

    if (fstat(fd, &now) < 0)
        return fail_errno(err, "stat", path);
    if (!storage_source_is_same(&now, found) && !storage_source_goes_on(dataset, path, &now, found))
        return weir_fail(err, WEIR_STALE, "%s: changed while it was being copied", path);
    return WEIR_OK;
}

static enum weir_status open_target(const struct dataset *dataset, const char *path,
                                    uint64_t from_byte, struct copying *copying,
                                    struct weir_error *err)
{
    WEIR_AUTO_FREE char *place =
        copying->is_new ? incoming_path(dataset) : weir_format("%s/%s", dataset->copies, path);
    int flags = copying->is_new ? O_RDWR | O_CREAT | O_TRUNC : O_RDWR;

    copying->to = open(place, flags | O_CLOEXEC | O_NOFOLLOW, 0600);
    if (copying->to < 0 && errno == ENOENT && copying->is_new) {
        enum weir_status status = weir_make_directories(dataset->copies, 0700, err);

        if (status != WEIR_OK)
            return status;
        copying->to = open(place, flags | O_CLOEXEC | O_NOFOLLOW, 0600);
    }
    if (copying->to < 0 ||
        (!copying->is_new && (ftruncate(copying->to, (off_t)from_byte) < 0 ||
                              lseek(copying->to, (off_t)from_byte, SEEK_SET) < 0)))
        return fail_write(err, dataset->copies);
    return WEIR_OK;
}

enum weir_status storage_copy_begin(const struct dataset *dataset, const char *path,
                                    const struct stat *found, uint64_t from_byte,
                                    struct copying *copying, struct weir_error *err)
{
    bool is_expanded = storage_is_expanded(dataset, path);
    enum weir_status status;

    *copying = (struct copying){.from = -1,
                                .to = -1,
                                .copies = dataset->copies,
                                .at = is_expanded ? 0 : from_byte,
                                .kept = is_expanded ? from_byte : 0,
                                .size = (uint64_t)found->st_size,
                                .is_open = true,
                                .is_new = from_byte == 0};
    status = storage_source_open(dataset, path, found, &copying->from, err);
    if (status == WEIR_OK && lseek(copying->from, (off_t)copying->at, SEEK_SET) < 0)
        status = fail_errno(err, "read", path);
    if (status == WEIR_OK && is_expanded)
        status = storage_expansion_begin(copying->from, copying->size, &copying->expansion, err);
    if (status == WEIR_OK)
        status = open_target(dataset, path, from_byte, copying, err);
    if (status != WEIR_OK)
        storage_copy_abort(copying);
    return status;
}

void storage_copy_abort(struct copying *copying)
{
    if (!copying->is_open)
        return;
    if (copying->from >= 0)
        close(copying->from);
    if (copying->to >= 0 && copying->is_new && ftruncate(copying->to, 0) < 0)
        weir_log(WEIR_LOG_WARN, "the beginning of a copy stays", "because=\"%s\"", strerror(errno));
    if (copying->to >= 0)
        close(copying->to);
    storage_expansion_free(copying->expansion);
    *copying = (struct copying){0};
}

static enum weir_status write_piece(const struct copying *copying, struct weir_bytes piece,
                                    struct weir_error *err)
{
    if (!weir_write_all(copying->to, piece))
        return fail_write(err, copying->copies);
    return WEIR_OK;
}

/* Without what the copy has already. */
static enum weir_status write_expanded(struct copying *copying, struct weir_bytes piece,
                                       struct weir_error *err)
{
    size_t kept = copying->kept < piece.size ? (size_t)copying->kept : piece.size;

    copying->kept -= kept;
    return write_piece(copying, weir_bytes(piece.at + kept, piece.size - kept), err);
}

static enum weir_status step_expanded(struct copying *copying, uint64_t bytes,
                                      struct weir_error *err)
{
    uint64_t written = 0;
    struct weir_bytes piece;
    enum weir_status status;

    do {
        status = storage_expansion_next(copying->expansion, &piece, err);
        if (status == WEIR_OK)
            status = write_expanded(copying, piece, err);
        written += piece.size;
    } while (status == WEIR_OK && piece.size > 0 && written < bytes);
    if (status == WEIR_OK && piece.size == 0)
        copying->at = copying->size;
    if (status == WEIR_INVALID && !copying->is_new) /* once it was whole */
        return weir_fail(err, WEIR_STALE, "%s", (const char *)err->text);
    if (status == WEIR_INVALID && ftruncate(copying->to, 0) < 0)
        return fail_write(err, copying->copies);
    return status;
}

static enum weir_status step_plain(struct copying *copying, uint64_t bytes, struct weir_error *err)
{
    uint64_t end = copying->size - copying->at < bytes ? copying->size : copying->at + bytes;
    size_t piece = end - copying->at < PIECE_BYTES ? (size_t)(end - copying->at) : PIECE_BYTES;
    WEIR_AUTO_FREE uint8_t *buffer = weir_calloc(piece + 1, 1);

    while (copying->at < end) {
        size_t want = end - copying->at < piece ? (size_t)(end - copying->at) : piece;
        ssize_t got = read(copying->from, buffer, want);

        if (got < 0 && errno == EINTR)
            continue;
        if (got < 0)
            return weir_fail(err, WEIR_DENIED, "cannot be read: %s", strerror(errno));
        if (got == 0)
            return weir_fail(err, WEIR_STALE, "source ended at byte %llu, expected %llu",
                             (unsigned long long)copying->at, (unsigned long long)copying->size);
        enum weir_status status = write_piece(copying, weir_bytes(buffer, (size_t)got), err);

        if (status != WEIR_OK)
            return status;
        copying->at += (uint64_t)got;
    }
    return WEIR_OK;
}

enum weir_status storage_copy_step(struct copying *copying, uint64_t bytes, struct weir_error *err)
{
    return copying->expansion != NULL ? step_expanded(copying, bytes, err)
                                      : step_plain(copying, bytes, err);
}

static enum weir_status move_to_place(const struct dataset *dataset, const char *path,
                                      struct weir_error *err)
{
    WEIR_AUTO_FREE char *from = incoming_path(dataset);
    WEIR_AUTO_FREE char *to = weir_format("%s/%s", dataset->copies, path);
    char *slash;
    enum weir_status status;

    if (rename(from, to) == 0)
        return WEIR_OK;
    slash = strrchr(to, '/');
    if (errno != ENOENT || slash == NULL)
        return fail_write(err, dataset->copies);
    *slash = '\0';
    status = weir_make_directories(to, 0700, err);
    *slash = '/';
    if (status == WEIR_OK && rename(from, to) < 0)
        return fail_write(err, dataset->copies);
    return status;
}

enum weir_status storage_copy_end(const struct dataset *dataset, const char *path,
                                  const struct stat *found, struct copying *copying,
                                  struct stat *ret_copy, struct weir_error *err)
{
    const struct timespec times[2] = {{.tv_nsec = UTIME_OMIT}, found->st_mtim};
    enum weir_status status = check_unchanged(dataset, path, found, copying->from, err);

    if (status == WEIR_OK && (futimens(copying->to, times) < 0 || fstat(copying->to, ret_copy) < 0))
        status = fail_write(err, dataset->copies);
    if (status == WEIR_OK && copying->is_new)
        status = move_to_place(dataset, path, err);
    copying->is_new = copying->is_new && status != WEIR_OK; /* in its place it stays */
    storage_copy_abort(copying);
    return status;
}

/* Both files from their beginning, as long as they are equal. */
static bool hold_the_same(int a, int b)
{
    WEIR_AUTO_FREE uint8_t *one = weir_calloc(PIECE_BYTES, 1);
    WEIR_AUTO_FREE uint8_t *other = weir_calloc(PIECE_BYTES, 1);
    ssize_t got, also;

    do {
        got = read(a, one, PIECE_BYTES);
        also = read(b, other, PIECE_BYTES);
        if (got < 0 || got != also || memcmp(one, other, (size_t)got) != 0)
            return false;
    } while (got > 0);
    return true;
}

/* A death, or a batch that failed, may have left a copy of what the source is now beside a record of what it was. The
 * time tells nothing: that of a copy which was being adopted then is the source's already. */
static bool is_recorded(int copy, const struct stored_file *file)
{
    struct stat now;

    return fstat(copy, &now) == 0 && now.st_ino == file->inode;
}

bool storage_copy_adopt(const struct dataset *dataset, const struct stored_file *file,
                        const struct stat *found, struct stat *ret_copy)
{
    const struct timespec times[2] = {{.tv_nsec = UTIME_OMIT}, found->st_mtim};
    WEIR_AUTO_FREE char *copy = weir_format("%s/%s", dataset->copies, file->path);
    WEIR_AUTO_FD int from = -1;
    WEIR_AUTO_FD int to = open(copy, O_RDWR | O_CLOEXEC | O_NOFOLLOW);
    struct stat now;
    struct weir_error err;

    return storage_source_open(dataset, file->path, found, &from, &err) == WEIR_OK && to >= 0 &&
           is_recorded(to, file) && hold_the_same(from, to) && fstat(from, &now) == 0 &&
           storage_source_is_same(&now, found) && futimens(to, times) == 0 &&
           fstat(to, ret_copy) == 0;
}

enum weir_status storage_copy_sync(const struct dataset *dataset, struct weir_error *err)
{
    WEIR_AUTO_FD int fd = open(dataset->copies, O_RDONLY | O_DIRECTORY | O_CLOEXEC);

    if (fd < 0)
        return errno == ENOENT ? WEIR_OK : fail_write(err, dataset->copies);
    if (syncfs(fd) < 0)
        return fail_write(err, dataset->copies);
    return WEIR_OK;
}

/* ---- removing ---- */

/* Step of a walk from the leaves up, which ends at the first that is no folder, or is not empty. */
static int remove_folder(const char *path, const struct stat *found, int type, struct FTW *at)
{
    (void)found;
    (void)at;
    return type == FTW_DP && rmdir(path) == 0 ? 0 : 1;
}

/* A death may have left a folder that holds nothing but folders. */
bool storage_copy_is_blocked(const struct dataset *dataset, const char *path)
{
    WEIR_AUTO_FREE char *place = weir_format("%s/%s", dataset->copies, path);
    struct stat found;

    if (lstat(place, &found) < 0)
        return errno == ENOTDIR;
    return S_ISDIR(found.st_mode) &&
           nftw(place, remove_folder, FOLDERS_OPEN_MAX, FTW_DEPTH | FTW_PHYS) != 0;
}

void storage_copy_remove(const struct dataset *dataset, const char *path)
{
    WEIR_AUTO_FREE char *place = weir_format("%s/%s", dataset->copies, path);

    unlink(place);
    storage_copy_prune(place, strlen(dataset->copies) + 1);
}

void storage_copy_prune(char *place, size_t kept)
{
    char *slash;

    while ((slash = strrchr(place + kept, '/')) != NULL) {
        *slash = '\0';
        if (rmdir(place) == 0 || errno == ENOENT)
            continue;
        *slash = '/';
        return;
    }
}

/* ---- sweeping ---- */

static void watch_nothing(void *owner, const char *folder, int fd)
{
    (void)owner;
    (void)folder;
    (void)fd;
}

/* Copies and live files in the same order: what is only among the copies goes. */
static enum weir_status sweep_all(const struct dataset *dataset, struct listing *listing,
                                  struct known *known, struct weir_error *err)
{
    for (;;) {
        struct listed listed;
        struct stored_file *file = NULL;
        enum weir_status status = storage_listing_next(listing, &listed, err);

        if (status != WEIR_OK || listed.kind == LISTED_END)
            return status;
        if (listed.kind != LISTED_FILE)
            continue;
        while ((status = storage_known_peek(known, &file, err)) == WEIR_OK && file != NULL &&
               strcmp(file->path, listed.path) < 0)
            storage_known_skip(known);
        if (status != WEIR_OK)
            return status;
        if (file == NULL || strcmp(file->path, listed.path) != 0)
            storage_copy_remove(dataset, listed.path);
    }
}

enum weir_status storage_copy_sweep(const struct dataset *dataset, struct weir_error *err)
{
    const struct declaration every = {.source = {.include = "*"}, .is_mirrored = true}; /* ours */
    const struct dataset copies = {.root = dataset->copies, .declaration = &every};
    WEIR_AUTO_FREE char *incoming = incoming_path(dataset);
    struct scope scope = {0};
    struct listing *listing;
    struct known *known;
    enum weir_status status;

    if (access(dataset->copies, F_OK) < 0)
        return WEIR_OK;
    unlink(incoming);
    storage_scope_add_all(&scope);
    storage_scope_seal(&scope);
    listing = storage_listing_new(&copies, &scope, watch_nothing, NULL);
    known = storage_known_new(dataset, &scope);
    status = sweep_all(dataset, listing, known, err);
    storage_known_free(known);
    storage_listing_free(listing);
    storage_scope_fini(&scope);
    return status;
}
