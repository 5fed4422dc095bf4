/* See s3_shell.h. */
#include "storage/objects/s3_shell.h"

#include "core/base/file.h"
#include "core/base/memory.h"
#include "storage/files/listing.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

bool storage_s3_shell_is_for(const struct dataset *dataset, const char *path)
{
    return dataset->declaration->is_remote && storage_listing_is_sample(dataset, path);
}

static enum weir_status fail_errno(struct weir_error *err, const char *path)
{
    return weir_fail(err, WEIR_IO, "%s: cannot write: %s", path, strerror(errno));
}

static enum weir_status make(const char *incoming, const struct s3_object *object,
                             struct weir_error *err)
{
    const struct timespec times[2] = {{.tv_nsec = UTIME_OMIT},
                                      weir_mtime_of_us(object->modified_us)};
    WEIR_AUTO_FD int fd = open(incoming, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0600);

    if (fd < 0 || ftruncate(fd, (off_t)object->size) < 0 || futimens(fd, times) < 0)
        return fail_errno(err, incoming);
    return WEIR_OK;
}

/* The folder is there nearly always. */
static bool put_in_place(const char *incoming, const char *path, struct weir_error *err)
{
    WEIR_AUTO_FREE char *folder = NULL;

    if (rename(incoming, path) == 0)
        return true;
    if (errno != ENOENT)
        return false;
    folder = weir_strdup(path);
    *strrchr(folder, '/') = '\0';
    return weir_make_directories(folder, 0700, err) == WEIR_OK && rename(incoming, path) == 0;
}

/* Made again: a file that was fetched there may still be open, and be written to. */
enum weir_status storage_s3_shell_put(const char *incoming, const char *path,
                                      const struct s3_object *object, struct weir_error *err)
{
    enum weir_status status;

    if (unlink(incoming) < 0 && errno != ENOENT)
        return fail_errno(err, incoming);
    status = make(incoming, object, err);
    return status == WEIR_OK && !put_in_place(incoming, path, err) ? fail_errno(err, path) : status;
}

enum weir_status storage_s3_shell_empty(const char *path, struct weir_error *err)
{
    struct timespec times[2] = {{.tv_nsec = UTIME_OMIT}};
    WEIR_AUTO_FD int fd = open(path, O_RDWR | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
    struct stat found;

    if (fd < 0)
        return errno == ENOENT || errno == ENOTDIR || errno == ELOOP ? WEIR_OK
                                                                     : fail_errno(err, path);
    if (fstat(fd, &found) < 0 || !S_ISREG(found.st_mode) || found.st_blocks == 0)
        return WEIR_OK;
    times[1] = found.st_mtim;
    if (fallocate(fd, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, 0, found.st_size) < 0 ||
        futimens(fd, times) < 0)
        return fail_errno(err, path);
    return WEIR_OK;
}
