/* The folder of an export: one that may be written to, and is empty. */
#include "core/base/memory.h"
#include "orchestrator/exports/exports.h"

#include <dirent.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

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

/* Without links; of a folder that is not there yet, by its parent. NULL and errno: there is neither. */
static char *resolve(const char *directory)
{
    WEIR_AUTO_FREE char *plain = weir_strdup(directory);
    size_t size = strlen(plain);
    char *found = realpath(directory, NULL);

    if (found != NULL || errno != ENOENT)
        return found;
    while (size > 1 && plain[size - 1] == '/')
        plain[--size] = '\0';
    char *slash = strrchr(plain, '/');
    *slash = '\0';
    WEIR_AUTO_FREE char *parent = realpath(plain[0] == '\0' ? "/" : plain, NULL);
    return parent == NULL ? NULL : weir_format("%s/%s", parent, slash + 1);
}

static enum weir_status make(const char *folder, struct weir_error *err)
{
    struct stat about;

    if (mkdir(folder, 0755) != 0 && errno != EEXIST)
        return weir_fail(err, WEIR_INVALID,
                         "%s: cannot be made: %s; expected a parent that the platform's user may "
                         "write to",
                         folder, strerror(errno));
    if (stat(folder, &about) != 0 || !S_ISDIR(about.st_mode) || access(folder, W_OK | X_OK) != 0)
        return weir_fail(err, WEIR_INVALID,
                         "%s: expected a folder that the platform's user may write to", folder);
    return WEIR_OK;
}

enum weir_status orchestrator_export_folder(const char *data_dir, const char *directory,
                                            char **ret_folder, struct weir_error *err)
{
    if (directory[0] != '/')
        return weir_fail(err, WEIR_INVALID, "to: expected an absolute path, found '%.200s'",
                         directory);
    WEIR_AUTO_FREE char *folder = resolve(directory);
    if (folder == NULL)
        return weir_fail(err, WEIR_INVALID,
                         "%s: cannot be made: %s; its parent is expected to be there, and open to "
                         "the platform's user",
                         directory, strerror(errno));
    enum weir_status status = check_place(data_dir, folder, err);
    if (status == WEIR_OK)
        status = make(folder, err);
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
