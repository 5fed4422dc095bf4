/* Files of a source: see source.h. */
#include "storage/scanning/source.h"

#include "core/base/file.h"

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
    if (fstat(fd, &now) < 0 || !storage_source_is_same(&now, found)) {
        close(fd);
        return weir_fail(err, WEIR_STALE, "changes while it is read");
    }
    *ret_fd = fd;
    return WEIR_OK;
}
