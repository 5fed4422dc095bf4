/* Files of pushed samples: see segment.h. */
#include "storage/push/segment.h"

#include "core/base/file.h"
#include "core/base/full_disk.h"
#include "core/base/memory.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static enum weir_status fail_errno(struct weir_error *err, const char *what, const char *path)
{
    int code = errno;
    enum weir_status status = code == ENOENT            ? WEIR_NOT_FOUND
                              : code == EEXIST          ? WEIR_EXISTS
                              : weir_disk_is_full(code) ? WEIR_LIMIT
                                                        : WEIR_IO;

    return weir_fail(err, status, "%s: cannot %s: %s%s", path, what, strerror(code),
                     weir_disk_advice(code));
}

static enum weir_status make_folder_of(const char *path, struct weir_error *err)
{
    WEIR_AUTO_FREE char *folder = weir_strdup(path);

    *strrchr(folder, '/') = '\0';
    return weir_make_directories(folder, 0700, err);
}

enum weir_status storage_segment_create(const char *path, uint64_t size,
                                        struct segment *ret_segment, struct weir_error *err)
{
    struct segment segment = {.fd = -1, .size = size};
    enum weir_status status = make_folder_of(path, err);

    if (status != WEIR_OK)
        return status;
    segment.fd = open(path, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0600);
    if (segment.fd < 0)
        return fail_errno(err, "create", path);
    if (ftruncate(segment.fd, (off_t)size) < 0 || fsync(segment.fd) < 0)
        status = fail_errno(err, "make room in", path);
    if (status == WEIR_OK)
        status = weir_sync_parent(path, err);
    if (status != WEIR_OK) {
        unlink(path); /* its name is free again */
        storage_segment_close(&segment);
        return status;
    }
    segment.path = weir_strdup(path);
    *ret_segment = segment;
    return WEIR_OK;
}

static enum weir_status cut(const struct segment *segment, const char *path, uint64_t used,
                            struct weir_error *err)
{
    struct stat found;

    if (fstat(segment->fd, &found) < 0)
        return fail_errno(err, "stat", path);
    if (!S_ISREG(found.st_mode) || (uint64_t)found.st_size < used)
        return weir_fail(err, WEIR_CORRUPT, "%s: found %lld bytes, expected at least %llu", path,
                         (long long)found.st_size, (unsigned long long)used);
    if (ftruncate(segment->fd, (off_t)used) < 0 ||
        ftruncate(segment->fd, (off_t)segment->size) < 0 || fsync(segment->fd) < 0)
        return fail_errno(err, "cut", path);
    return WEIR_OK;
}

enum weir_status storage_segment_open(const char *path, uint64_t size, uint64_t used,
                                      struct segment *ret_segment, struct weir_error *err)
{
    struct segment segment = {.fd = open(path, O_RDWR | O_CLOEXEC | O_NOFOLLOW), .size = size};
    enum weir_status status;

    if (segment.fd < 0)
        return fail_errno(err, "open", path);
    status = cut(&segment, path, used, err);
    if (status != WEIR_OK) {
        storage_segment_close(&segment);
        return status;
    }
    segment.path = weir_strdup(path);
    *ret_segment = segment;
    return WEIR_OK;
}

void storage_segment_close(struct segment *segment)
{
    if (segment->fd >= 0)
        close(segment->fd);
    free(segment->path);
    segment->path = NULL;
    segment->fd = -1;
}

enum weir_status storage_segment_write(const struct segment *segment, uint64_t at,
                                       struct weir_bytes bytes, struct weir_error *err)
{
    weir_require(bytes.size <= segment->size && at <= segment->size - bytes.size);
    while (bytes.size > 0) {
        ssize_t written = pwrite(segment->fd, bytes.at, bytes.size, (off_t)at);

        if (written < 0 && errno == EINTR)
            continue;
        if (written < 0)
            return fail_errno(err, "append", segment->path);
        at += (uint64_t)written;
        bytes = weir_bytes(bytes.at + written, bytes.size - (size_t)written);
    }
    return WEIR_OK;
}

enum weir_status storage_segment_read(const struct segment *segment, uint64_t at, void *bytes,
                                      size_t size, struct weir_error *err)
{
    ssize_t got = weir_read_at(segment->fd, bytes, size, at);

    if (got < 0)
        return fail_errno(err, "read", segment->path);
    if ((size_t)got < size)
        return weir_fail(err, WEIR_CORRUPT, "%s: ends at byte %llu", segment->path,
                         (unsigned long long)(at + (uint64_t)got));
    return WEIR_OK;
}

enum weir_status storage_segment_sync(const struct segment *segment, struct weir_error *err)
{
    return fdatasync(segment->fd) < 0 ? fail_errno(err, "sync", segment->path) : WEIR_OK;
}

enum weir_status storage_segment_describe(const struct segment *segment, struct stat *ret_stat,
                                          struct weir_error *err)
{
    return fstat(segment->fd, ret_stat) < 0 ? fail_errno(err, "stat", segment->path) : WEIR_OK;
}
