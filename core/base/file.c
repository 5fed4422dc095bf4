/* Files read with a bound and written atomically: temporary file, fsync, rename, fsync of the
 * directory. */
#include "core/base/file.h"

#include "core/base/full_disk.h"
#include "core/base/memory.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/openat2.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

enum { READ_BYTES_MIN = 4096, TREE_DEPTH_MAX = 64 };

enum { NS_PER_SECOND = 1000000000, US_PER_SECOND = 1000000 };

static int64_t joined(const struct timespec *time, int64_t per_second)
{
    uint64_t part = (uint64_t)(time->tv_nsec / (NS_PER_SECOND / per_second));
    return (int64_t)((uint64_t)time->tv_sec * (uint64_t)per_second + part);
}

/* Parts of a second count up, before 1970 too. */
static struct timespec split(int64_t time, int64_t per_second)
{
    int64_t part = time % per_second;
    bool is_before = part < 0;
    part += is_before ? per_second : 0;
    return (struct timespec){.tv_sec = time / per_second - is_before,
                             .tv_nsec = part * (NS_PER_SECOND / per_second)};
}

int64_t weir_mtime_ns(const struct stat *about)
{
    return joined(&about->st_mtim, NS_PER_SECOND);
}

int64_t weir_mtime_us(const struct stat *about)
{
    return joined(&about->st_mtim, US_PER_SECOND);
}

int64_t weir_ctime_ns(const struct stat *about)
{
    return joined(&about->st_ctim, NS_PER_SECOND);
}

struct timespec weir_mtime_of_ns(int64_t mtime_ns)
{
    return split(mtime_ns, NS_PER_SECOND);
}

struct timespec weir_mtime_of_us(int64_t mtime_us)
{
    return split(mtime_us, US_PER_SECOND);
}

void weir_auto_fd(const int *fd)
{
    if (*fd >= 0)
        close(*fd);
}

/* Raises what errno says of `path`. */
static enum weir_status fail_errno(struct weir_error *err, const char *what, const char *path)
{
    int code = errno;
    enum weir_status status = code == ENOENT ? WEIR_NOT_FOUND : WEIR_IO;
    return weir_fail(err, status, "%s: cannot %s: %s%s", path, what, strerror(code),
                     weir_disk_advice(code));
}

/* read() that is not interrupted. */
static ssize_t read_some(int fd, void *at, size_t size)
{
    ssize_t got;
    do {
        got = read(fd, at, size);
    } while (got < 0 && errno == EINTR);
    return got;
}

/* Of a file that was opened with O_NONBLOCK: nobody waits for whoever writes to a pipe of that name. */
static enum weir_status look_at_regular(int fd, const char *path, struct stat *ret_about,
                                        struct weir_error *err)
{
    if (fd < 0 || fstat(fd, ret_about) < 0)
        return fail_errno(err, "open", path);
    if (!S_ISREG(ret_about->st_mode))
        return weir_fail(err, WEIR_IO, "%s: expected a regular file", path);
    return WEIR_OK;
}

enum weir_status weir_file_read(const char *path, size_t bytes_max, struct weir_buf *buf,
                                struct weir_error *err)
{
    WEIR_AUTO_FD int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    return weir_file_read_open(fd, path, bytes_max, buf, err);
}

enum weir_status weir_file_read_open(int fd, const char *path, size_t bytes_max,
                                     struct weir_buf *buf, struct weir_error *err)
{
    struct stat stat;
    enum weir_status status = look_at_regular(fd, path, &stat, err);
    if (status != WEIR_OK)
        return status;

    size_t before = buf->size;
    for (;;) { /* until the end, not st_size: the file may be growing */
        size_t seen = buf->size - before, size = (size_t)stat.st_size;
        size_t room = bytes_max - seen;
        size_t want = room < SIZE_MAX ? room + 1 : room; /* one more, to see that there is more */
        size_t likely = READ_BYTES_MIN + (size > seen ? size - seen : 0);
        if (want > likely)
            want = likely;
        weir_buf_reserve(buf, want);
        ssize_t got = read_some(fd, buf->at + buf->size, want);
        if (got < 0) {
            buf->size = before;
            return fail_errno(err, "read", path);
        }
        if (got == 0)
            return WEIR_OK;
        if ((size_t)got > room) {
            buf->size = before;
            return weir_fail(err, WEIR_LIMIT, "%s: larger than %zu bytes", path, bytes_max);
        }
        buf->size += (size_t)got;
    }
}

bool weir_write_all(int fd, struct weir_bytes bytes)
{
    while (bytes.size > 0) {
        ssize_t written = write(fd, bytes.at, bytes.size);
        if (written < 0 && errno == EINTR)
            continue;
        if (written < 0)
            return false;
        bytes.at += written;
        bytes.size -= (size_t)written;
    }
    return true;
}

ssize_t weir_read_at(int fd, void *to, size_t size, uint64_t offset)
{
    size_t done = 0;
    while (done < size) {
        ssize_t got = pread(fd, (uint8_t *)to + done, size - done, (off_t)(offset + done));
        if (got < 0 && errno == EINTR)
            continue;
        if (got < 0)
            return -1;
        if (got == 0)
            break;
        done += (size_t)got;
    }
    return (ssize_t)done;
}

static enum weir_status write_temporary(const char *temporary, const struct weir_bytes *pieces,
                                        size_t count, bool is_synced, struct weir_error *err)
{
    WEIR_AUTO_FD int fd = open(temporary, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
    if (fd < 0)
        return fail_errno(err, "create", temporary);
    for (size_t i = 0; i < count; i++) {
        if (!weir_write_all(fd, pieces[i]))
            return fail_errno(err, "write", temporary);
    }
    if (is_synced && fsync(fd) < 0)
        return fail_errno(err, "fsync", temporary);
    return WEIR_OK;
}

static enum weir_status write_over(const char *path, const struct weir_bytes *pieces, size_t count,
                                   bool is_synced, struct weir_error *err)
{
    WEIR_AUTO_FREE char *temporary = weir_format("%s.tmp", path);
    enum weir_status status = write_temporary(temporary, pieces, count, is_synced, err);
    if (status == WEIR_OK && rename(temporary, path) < 0)
        status = fail_errno(err, "rename to", path);
    if (status != WEIR_OK)
        unlink(temporary);
    return status;
}

enum weir_status weir_file_write_pieces(const char *path, const struct weir_bytes *pieces,
                                        size_t count, struct weir_error *err)
{
    enum weir_status status = write_over(path, pieces, count, true, err);
    return status == WEIR_OK ? weir_sync_parent(path, err) : status;
}

enum weir_status weir_file_write_unsynced(const char *path, struct weir_bytes bytes,
                                          struct weir_error *err)
{
    return write_over(path, &bytes, 1, false, err);
}

/* Opens each for a moment, so that there may be any number of them. */
static enum weir_status sync_each(char *const *paths, size_t count, bool only_begins,
                                  struct weir_error *err)
{
    for (size_t i = 0; i < count; i++) {
        WEIR_AUTO_FD int fd = open(paths[i], O_RDONLY | O_CLOEXEC);
        if (fd < 0)
            return fail_errno(err, "open", paths[i]);
        if (only_begins)
            (void)sync_file_range(fd, 0, 0, SYNC_FILE_RANGE_WRITE); /* a hint */
        else if (fsync(fd) < 0)
            return fail_errno(err, "fsync", paths[i]);
    }
    return WEIR_OK;
}

enum weir_status weir_files_sync(char *const *paths, size_t count, struct weir_error *err)
{
    if (count == 0)
        return WEIR_OK;
    enum weir_status status = sync_each(paths, count, true, err);
    if (status == WEIR_OK)
        status = sync_each(paths, count, false, err);
    return status == WEIR_OK ? weir_sync_parent(paths[0], err) : status;
}

enum weir_status weir_file_write_atomic(const char *path, struct weir_bytes bytes,
                                        struct weir_error *err)
{
    return weir_file_write_pieces(path, &bytes, 1, err);
}

static enum weir_status map(const char *path, int flags, void **ret_at, size_t *ret_size,
                            struct weir_error *err)
{
    struct stat stat;
    WEIR_AUTO_FD int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | flags);
    enum weir_status status = look_at_regular(fd, path, &stat, err);
    if (status != WEIR_OK)
        return status;
    void *at = NULL;
    if (stat.st_size > 0)
        at = mmap(NULL, (size_t)stat.st_size, PROT_READ, MAP_SHARED, fd, 0);
    if (at == MAP_FAILED)
        return fail_errno(err, "map", path);
    *ret_at = at;
    *ret_size = (size_t)stat.st_size;
    return WEIR_OK;
}

enum weir_status weir_file_map(const char *path, void **ret_at, size_t *ret_size,
                               struct weir_error *err)
{
    return map(path, 0, ret_at, ret_size, err);
}

enum weir_status weir_file_map_no_link(const char *path, void **ret_at, size_t *ret_size,
                                       struct weir_error *err)
{
    return map(path, O_NOFOLLOW, ret_at, ret_size, err);
}

void weir_file_unmap(void *at, size_t size)
{
    if (size > 0)
        munmap(at, size);
}

/* Length of the part before the last slash; 0 when there is none. "/" is its own parent. */
static size_t parent_length(const char *path)
{
    const char *slash = strrchr(path, '/');
    if (slash == NULL)
        return 0;
    return slash == path ? 1 : (size_t)(slash - path);
}

enum weir_status weir_sync_parent(const char *path, struct weir_error *err)
{
    size_t length = parent_length(path);
    WEIR_AUTO_FREE char *parent = length > 0 ? weir_strndup(path, length) : weir_strdup(".");
    WEIR_AUTO_FD int fd = open(parent, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (fd < 0)
        return fail_errno(err, "open", parent);
    if (fsync(fd) < 0)
        return fail_errno(err, "fsync", parent);
    return WEIR_OK;
}

/* One level, there to stay; an existing directory is fine. */
static enum weir_status make_directory(const char *path, mode_t mode, struct weir_error *err)
{
    struct stat found;
    if (mkdir(path, mode) == 0)
        return weir_sync_parent(path, err);
    int code = errno; /* of any kind: what counts is whether a directory is there */
    if (stat(path, &found) == 0) {
        if (S_ISDIR(found.st_mode))
            return WEIR_OK;
        return weir_fail(err, WEIR_IO, "%s: is there, but is no directory", path);
    }
    return weir_fail(err, WEIR_IO, "%s: cannot make the directory: %s%s", path, strerror(code),
                     weir_disk_advice(code));
}

enum weir_status weir_make_directories(const char *path, mode_t mode, struct weir_error *err)
{
    WEIR_AUTO_FREE char *prefix = weir_strdup(path);
    for (char *at = prefix; *at != '\0'; at++) {
        if (*at != '/' || at == prefix)
            continue;
        *at = '\0';
        enum weir_status status = make_directory(prefix, mode, err);
        if (status != WEIR_OK)
            return status;
        *at = '/';
    }
    return make_directory(prefix, mode, err);
}

static enum weir_status empty_directory(int fd, const char *path, int depth,
                                        struct weir_error *err);

/* Removes `name` in directory `parent`, whatever it is. `path` is for messages. */
static enum weir_status remove_entry(int parent, const char *name, const char *path, int depth,
                                     struct weir_error *err)
{
    if (unlinkat(parent, name, 0) == 0 || errno == ENOENT)
        return WEIR_OK;
    if (errno != EISDIR)
        return fail_errno(err, "remove", path);
    if (depth >= TREE_DEPTH_MAX)
        return weir_fail(err, WEIR_LIMIT, "%s: deeper than %d directories", path, TREE_DEPTH_MAX);
    int fd = openat(parent, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    if (fd < 0)
        return fail_errno(err, "open", path);
    enum weir_status status = empty_directory(fd, path, depth, err);
    if (status == WEIR_OK && unlinkat(parent, name, AT_REMOVEDIR) < 0 && errno != ENOENT)
        return fail_errno(err, "remove", path);
    return status;
}

/* Takes over `fd`. */
static enum weir_status empty_directory(int fd, const char *path, int depth, struct weir_error *err)
{
    DIR *directory = fdopendir(fd);
    if (directory == NULL) {
        enum weir_status status = fail_errno(err, "read", path);
        close(fd);
        return status;
    }
    enum weir_status status = WEIR_OK;
    const struct dirent *entry;
    while (status == WEIR_OK && (entry = readdir(directory)) != NULL) {
        if (weir_str_equal(entry->d_name, ".") || weir_str_equal(entry->d_name, ".."))
            continue;
        WEIR_AUTO_FREE char *below = weir_format("%s/%s", path, entry->d_name);
        status = remove_entry(dirfd(directory), entry->d_name, below, depth + 1, err);
    }
    closedir(directory);
    return status;
}

enum weir_status weir_remove_tree(const char *path, struct weir_error *err)
{
    return remove_entry(AT_FDCWD, path, path, 0, err);
}

/* ---- opening below a folder ---- */

/* For kernels and sandboxes without openat2(): one component at a time. */
static int open_stepwise(int root, const char *path, int flags)
{
    WEIR_AUTO_FREE char *rest = weir_strdup(path);
    WEIR_AUTO_FD int at = -1;
    char *next = rest;

    for (char *slash; (slash = strchr(next, '/')) != NULL; next = slash + 1) {
        int parent = at < 0 ? root : at;
        int below;

        *slash = '\0';
        if (strcmp(next, "..") == 0) {
            errno = EXDEV;
            return -1;
        }
        below = openat(parent, next, O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
        if (at >= 0)
            close(at);
        at = below;
        if (at < 0)
            return -1;
    }
    return openat(at < 0 ? root : at, strcmp(next, "..") == 0 ? "" : next, flags | O_NOFOLLOW);
}

int weir_open_beneath_at(int root, const char *path, int flags)
{
    struct open_how how = {
        .flags = (uint64_t)(unsigned)(flags | O_CLOEXEC),
        .resolve = RESOLVE_BENEATH | RESOLVE_NO_SYMLINKS,
    };
    long fd = syscall(SYS_openat2, root, path, &how, sizeof(how));

    if (fd < 0 && (errno == ENOSYS || errno == EPERM))
        return open_stepwise(root, path, flags | O_CLOEXEC);
    return (int)fd;
}

int weir_open_beneath(const char *root, const char *path, int flags)
{
    WEIR_AUTO_FD int below = open(root, O_PATH | O_DIRECTORY | O_CLOEXEC);

    return below < 0 ? -1 : weir_open_beneath_at(below, path, flags);
}
