/* Where an export may be written. */
#include "core/base/memory.h"
#include "orchestrator/exports/exports.h"

#include <dirent.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

/* `path` is `folder`, or lies in it. */
static bool is_in(const char *path, const char *folder)
{
    size_t size = strlen(folder);

    return strncmp(path, folder, size) == 0 && (path[size] == '\0' || path[size] == '/');
}

static enum weir_status check_place(const char *data_dir, const char *folder,
                                    struct weir_error *err)
{
    WEIR_AUTO_FREE char *own = realpath(data_dir, NULL);

    if (own != NULL && (is_in(folder, own) || is_in(own, folder)))
        return weir_fail(err, WEIR_INVALID,
                         "%s: lies in the data directory, or around it: expected another folder",
                         folder);
    return WEIR_OK;
}

enum weir_status orchestrator_export_folder(const char *data_dir, const char *directory,
                                            char **ret_folder, struct weir_error *err)
{
    struct stat about;

    if (directory[0] != '/')
        return weir_fail(err, WEIR_INVALID, "to: expected an absolute path, found '%.200s'",
                         directory);
    if (mkdir(directory, 0755) != 0 && errno != EEXIST)
        return weir_fail(err, WEIR_INVALID,
                         "%s: cannot be made: %s; its parent is expected to be there, and open to "
                         "the platform's user",
                         directory, strerror(errno));
    WEIR_AUTO_FREE char *folder = realpath(directory, NULL);
    if (folder == NULL || stat(folder, &about) != 0 || !S_ISDIR(about.st_mode))
        return weir_fail(err, WEIR_INVALID, "%s: expected a folder", directory);
    enum weir_status status = check_place(data_dir, folder, err);
    if (status == WEIR_OK)
        *ret_folder = WEIR_TAKE(folder);
    return status;
}

enum weir_status orchestrator_export_folder_is_empty(const char *folder, bool *ret_is,
                                                     struct weir_error *err)
{
    DIR *directory = opendir(folder);
    const struct dirent *entry;

    if (directory == NULL)
        return weir_fail(err, WEIR_INVALID, "%s: cannot be read: %s", folder, strerror(errno));
    *ret_is = true;
    while (*ret_is && (entry = readdir(directory)) != NULL)
        *ret_is = strcmp(entry->d_name, ".") == 0 || strcmp(entry->d_name, "..") == 0;
    (void)closedir(directory);
    return WEIR_OK;
}
