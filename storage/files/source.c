/* Files of a source: see source.h. */
#include "storage/files/source.h"

#include "core/base/file.h"
#include "storage/files/expand.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

bool storage_source_is_same(const struct stat *a, const struct stat *b)
{
    return S_ISREG(a->st_mode) && S_ISREG(b->st_mode) && a->st_ino == b->st_ino &&
           a->st_size == b->st_size && a->st_mtim.tv_sec == b->st_mtim.tv_sec &&
           a->st_mtim.tv_nsec == b->st_mtim.tv_nsec;
}

bool storage_source_goes_on(const struct dataset *dataset, const char *path, const struct stat *now,
                            const struct stat *found)
{
    return !dataset->declaration->format->is_one_sample && !storage_is_compressed(dataset, path) &&
           S_ISREG(now->st_mode) && S_ISREG(found->st_mode) && now->st_ino == found->st_ino &&
           now->st_size >= found->st_size;
}

static bool is_denied(int code)
{
    return code == EACCES || code == EPERM || code == EIO;
}

/* Not blocking: somebody may have put a pipe there. */
enum weir_status storage_source_open(const struct dataset *dataset, const char *path,
                                     const struct stat *found, int *ret_fd, struct weir_error *err)
{
    int fd = weir_open_beneath(dataset->root, path, O_RDONLY | O_NONBLOCK);
    struct stat now;

    if (fd < 0)
        return weir_fail(err, is_denied(errno) ? WEIR_DENIED : WEIR_STALE, "cannot be read: %s",
                         strerror(errno));
    if (fstat(fd, &now) < 0 || (!storage_source_is_same(&now, found) &&
                                !storage_source_goes_on(dataset, path, &now, found))) {
        close(fd);
        return weir_fail(err, WEIR_STALE, "changes while it is read");
    }
    *ret_fd = fd;
    return WEIR_OK;
}
