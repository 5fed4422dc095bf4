/* Each step by a rename; see the header. */
#include "orchestrator/runs/warm_folder.h"

#include "core/base/fault.h"
#include "core/base/file.h"
#include "core/base/memory.h"
#include "orchestrator/models/content.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static const off_t BASE_BYTES_MAX = 256 << 20; /* a quarter of a second, of memory */
static const char RESULT[] = "result-";        /* folder that takes a run's place */
static const char IDLE[] = "idle-";

bool orchestrator_warm_folder_is_left(const char *name)
{
    return strncmp(name, RESULT, strlen(RESULT)) == 0 || strncmp(name, IDLE, strlen(IDLE)) == 0;
}

static enum weir_status fail_at(const char *path, const char *what, struct weir_error *err)
{
    return weir_fail(err, errno == EINVAL || errno == ENOSYS ? WEIR_UNSUPPORTED : WEIR_IO,
                     "%s: cannot be %s: %s", path, what, strerror(errno));
}

/* ---- parted ---- */

static enum weir_status keep_file(const char *from, const char *to, const char *name,
                                  struct weir_error *err)
{
    WEIR_AUTO_FREE char *source = weir_format("%s/%s", from, name);
    WEIR_AUTO_FREE char *target = weir_format("%s/%s", to, name);

    if (name[0] == '\0' || link(source, target) == 0)
        return WEIR_OK;
    return fail_at(source, "linked", err);
}

/* "…/runs/result-5" of "…/runs/5" */
static char *result_of(const char *directory)
{
    const char *name = strrchr(directory, '/') + 1;

    return weir_format("%.*s%s%s", (int)(name - directory), directory, RESULT, name);
}

/* A result is removed with its run's folder, so no second name of it stays with the trainer. */
static enum weir_status leave_file(const char *aside, const char *name, struct weir_error *err)
{
    WEIR_AUTO_FREE char *path = weir_format("%s/%s", aside, name);

    if (name[0] == '\0' || unlink(path) == 0 || errno == ENOENT)
        return WEIR_OK;
    return fail_at(path, "removed", err);
}

static enum weir_status exchange(const char *result, const char *directory, const char *aside,
                                 const char *const names[2], struct weir_error *err)
{
    enum weir_status status = WEIR_OK;

    if (renameat2(AT_FDCWD, result, AT_FDCWD, directory, RENAME_EXCHANGE) != 0)
        return fail_at(directory, "exchanged", err);
    (void)weir_fault("warm.parted");
    if (rename(result, aside) != 0)
        return fail_at(result, "renamed", err);
    for (size_t i = 0; i < 2 && status == WEIR_OK; i++)
        status = leave_file(aside, names[i], err);
    return status == WEIR_OK ? weir_sync_parent(directory, err) : status;
}

enum weir_status orchestrator_warm_folder_part(const char *directory, const char *aside,
                                               const char *const names[2], struct weir_error *err)
{
    WEIR_AUTO_FREE char *result = result_of(directory);
    WEIR_AUTO_FREE char *inside = weir_format("%s/.", result);
    enum weir_status status = weir_remove_tree(result, err);

    if (status == WEIR_OK)
        status = weir_remove_tree(aside, err);
    if (status == WEIR_OK)
        status = weir_make_directories(result, 0700, err);
    for (size_t i = 0; i < 2 && status == WEIR_OK; i++)
        status = keep_file(directory, result, names[i], err);
    if (status == WEIR_OK)
        status = weir_sync_parent(inside, err);
    if (status == WEIR_OK)
        return exchange(result, directory, aside, names, err);
    struct weir_error other;
    weir_ignore(weir_remove_tree(result, &other)); /* the first trouble is what counts */
    return status;
}

/* ---- empty ---- */

static bool is_entry(const struct dirent *entry)
{
    return strcmp(entry->d_name, ".") != 0 && strcmp(entry->d_name, "..") != 0;
}

enum weir_status orchestrator_warm_folder_empty(const char *aside, struct weir_error *err)
{
    DIR *folder = opendir(aside);
    enum weir_status status = folder != NULL ? WEIR_OK : fail_at(aside, "read", err);
    const struct dirent *entry;

    while (status == WEIR_OK && (entry = readdir(folder)) != NULL) {
        WEIR_AUTO_FREE char *path = weir_format("%s/%s", aside, entry->d_name);
        if (is_entry(entry))
            status = weir_remove_tree(path, err);
    }
    if (folder != NULL)
        (void)closedir(folder);
    return status;
}

/* ---- given ---- */

/* EXISTS when the folder, if there is one, holds anything but the base. */
static enum weir_status check_fresh(const char *directory, struct weir_error *err)
{
    DIR *folder = opendir(directory);
    enum weir_status status = WEIR_OK;
    const struct dirent *entry;

    if (folder == NULL)
        return errno == ENOENT ? WEIR_OK : fail_at(directory, "read", err);
    while (status == WEIR_OK && (entry = readdir(folder)) != NULL)
        if (is_entry(entry) && strcmp(entry->d_name, ORCHESTRATOR_BASE_FILE) != 0)
            status = weir_fail(err, WEIR_EXISTS, "%s/%s is an earlier trainer's", directory,
                               entry->d_name);
    (void)closedir(folder);
    return status;
}

static bool copy(int in, int out, off_t size)
{
    ssize_t copied = 1;

    while (size > 0 && (copied = copy_file_range(in, NULL, out, NULL, (size_t)size, 0)) > 0)
        size -= copied;
    return copied > 0;
}

/* The trainer may write to what is in its folder, so it is given no second name of a stored model. */
static enum weir_status copy_base(const char *base, const char *target, struct weir_error *err)
{
    WEIR_AUTO_FD int in = open(base, O_RDONLY | O_CLOEXEC);
    struct stat about;

    if (in < 0 || fstat(in, &about) != 0)
        return fail_at(base, "read", err);
    if (about.st_size > BASE_BYTES_MAX)
        return weir_fail(err, WEIR_LIMIT, "%s: %lld bytes are not copied", base,
                         (long long)about.st_size);
    WEIR_AUTO_FD int out = open(target, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
    if (out < 0 || !copy(in, out, about.st_size))
        return fail_at(target, "written", err);
    return WEIR_OK;
}

static enum weir_status place_base(const char *base, const char *directory, const char *aside,
                                   struct weir_error *err)
{
    WEIR_AUTO_FREE char *own = weir_format("%s/%s", directory, ORCHESTRATOR_BASE_FILE);
    WEIR_AUTO_FREE char *target = weir_format("%s/%s", aside, ORCHESTRATOR_BASE_FILE);

    if (base[0] == '\0')
        return WEIR_OK;
    if (strcmp(base, own) != 0)
        return copy_base(base, target, err);
    return rename(own, target) == 0 ? WEIR_OK : fail_at(own, "renamed", err);
}

enum weir_status orchestrator_warm_folder_give(const char *aside, const char *directory,
                                               const char *base, char **ret_base,
                                               struct weir_error *err)
{
    enum weir_status status = check_fresh(directory, err);

    if (status == WEIR_OK)
        status = orchestrator_warm_folder_empty(aside, err);
    if (status == WEIR_OK)
        status = place_base(base, directory, aside, err);
    (void)weir_fault("warm.placed");
    if (status == WEIR_OK && rename(aside, directory) != 0) /* over an empty one, if any */
        status = fail_at(aside, "renamed", err);
    if (status == WEIR_OK)
        *ret_base = base[0] == '\0' ? weir_strdup("")
                                    : weir_format("%s/%s", directory, ORCHESTRATOR_BASE_FILE);
    return status;
}
