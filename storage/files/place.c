/* The way to a file of a dataset: see place.h. */
#include "storage/files/place.h"

#include "core/base/file.h"
#include "core/base/memory.h"
#include "core/service/roots.h"
#include "storage/files/owned.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

static int open_top(const struct dataset *dataset)
{
    const char *path = dataset->declaration->is_copied ? dataset->copies : dataset->root;
    int fd = open(path, O_PATH | O_DIRECTORY | O_CLOEXEC);

    if (fd < 0 || storage_owns(dataset) || weir_roots_allow_open(fd))
        return fd;
    close(fd);
    errno = EXDEV;
    return -1;
}

int storage_place_open(const struct dataset *dataset, const struct stored_file *file, int flags)
{
    WEIR_AUTO_FD int top = open_top(dataset);

    return top < 0 ? -1 : weir_open_beneath_at(top, file->path, flags);
}

int storage_place_folder(const struct dataset *dataset, const struct stored_file *file,
                         const char **ret_name)
{
    WEIR_AUTO_FD int top = open_top(dataset);
    const char *slash = strrchr(file->path, '/');
    WEIR_AUTO_FREE char *folder =
        slash != NULL ? weir_strndup(file->path, (size_t)(slash - file->path)) : weir_strdup(".");

    *ret_name = slash != NULL ? slash + 1 : file->path;
    return top < 0 ? -1 : weir_open_beneath_at(top, folder, O_PATH | O_DIRECTORY);
}
