/* See scratch_dir.h. */
#include "orchestrator/scratch_dir.h"

#include "core/base/file.h"
#include "core/base/log.h"
#include "core/base/memory.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

static const char PREFIX[] = "weir-scratch-";
enum { YOUNG_S = 60 /* made, and not locked yet */ };

static const char *root(void)
{
    const char *folder = getenv("TMPDIR");
    return folder == NULL || *folder == '\0' ? "/tmp" : folder;
}

enum weir_status orchestrator_scratch_dir_make(char **ret_path, struct weir_error *err)
{
    WEIR_AUTO_FREE char *path = weir_format("%s/%sXXXXXX", root(), PREFIX);
    if (mkdtemp(path) == NULL)
        return weir_fail(err, WEIR_IO,
                         "%s: cannot be made: %s: set TMPDIR to a directory that "
                         "can be written to",
                         path, strerror(errno));
    *ret_path = WEIR_TAKE(path);
    return WEIR_OK;
}

int orchestrator_scratch_dir_lock(const char *path)
{
    int fd = open(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    if (fd >= 0)
        (void)flock(fd, LOCK_EX | LOCK_NB);
    return fd;
}

void orchestrator_scratch_dir_remove(const char *path)
{
    struct weir_error err;
    if (weir_remove_tree(path, &err) != WEIR_OK)
        weir_log(WEIR_LOG_WARN, "what a dry run or a check has copied stays", "error=\"%s\"",
                 err.text);
}

/* A platform locks its data directory for as long as it lives. */
static bool is_left_behind(int parent, const char *name, int64_t now_s)
{
    struct stat found;
    WEIR_AUTO_FD int fd = openat(parent, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    return fd >= 0 && fstat(fd, &found) == 0 && llabs(now_s - found.st_mtime) > YOUNG_S &&
           flock(fd, LOCK_EX | LOCK_NB) == 0;
}

void orchestrator_scratch_dir_sweep(int64_t now_us)
{
    DIR *folder = opendir(root());
    const struct dirent *entry = NULL;
    while (folder != NULL && (entry = readdir(folder)) != NULL) {
        if (strncmp(entry->d_name, PREFIX, strlen(PREFIX)) != 0 ||
            !is_left_behind(dirfd(folder), entry->d_name, now_us / 1000000))
            continue;
        WEIR_AUTO_FREE char *path = weir_format("%s/%s", root(), entry->d_name);
        orchestrator_scratch_dir_remove(path);
    }
    if (folder != NULL)
        (void)closedir(folder);
}
