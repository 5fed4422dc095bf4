/* Creating files that must not be there yet. */
#include "cli/new_file.h"

#include "core/base/file.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>

enum weir_status cli_new_file(const char *path, struct weir_bytes text, struct weir_error *err)
{
    WEIR_AUTO_FD int fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0644);

    if (fd < 0 && errno == EEXIST)
        return weir_fail(
            err, WEIR_EXISTS,
            "%s: there is such a file, which is not overwritten: name another one with -o", path);
    if (fd < 0 || !weir_write_all(fd, text))
        return weir_fail(err, WEIR_IO, "%s: %s", path, strerror(errno));
    return WEIR_OK;
}
