/* Looking at a data directory's lock without keeping it. */
#include "cli/lock.h"

#include "core/base/file.h"
#include "core/base/memory.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

enum { TEXT_MAX = PATH_MAX + 32 };

/* Its lock file may have been removed: whoever serves it has locked the directory, too. */
static bool is_served(const char *data_dir)
{
    WEIR_AUTO_FD int fd = open(data_dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    return fd >= 0 && flock(fd, LOCK_SH | LOCK_NB) != 0 && errno == EWOULDBLOCK;
}

static enum weir_status explain_absence(const char *data_dir, const char *path,
                                        struct weir_error *err)
{
    int problem = errno;
    struct stat found;
    if (problem == EACCES && stat(data_dir, &found) == 0) {
        return weir_fail(
            err, WEIR_DENIED,
            "data directory %s belongs to user number %u: run weir as that user or as root",
            data_dir, found.st_uid);
    }
    if (problem == EACCES)
        return weir_fail(err, WEIR_DENIED, "data directory %s: %s", data_dir, strerror(problem));
    if (problem != ENOENT && problem != ENOTDIR)
        return weir_fail(err, WEIR_IO, "%s: %s", path, strerror(problem));
    if (is_served(data_dir))
        return weir_fail(err, WEIR_UNAVAILABLE,
                         "data directory %s is served, but its file 'lock', which says where, was "
                         "removed: stop that platform and start it again",
                         data_dir);
    return weir_fail(err, WEIR_INVALID,
                     "data directory %s %s: name another one with --data-dir, a platform elsewhere "
                     "with --key or by weir context use, or begin with: orchestrator run "
                     "PIPELINE.yaml --data-dir %s",
                     data_dir,
                     stat(data_dir, &found) == 0 ? "holds nothing of Weir" : "does not exist",
                     data_dir);
}

static void read_lines(int fd, struct cli_lock *lock)
{
    char text[TEXT_MAX];
    char *rest = NULL;
    ssize_t got = pread(fd, text, sizeof(text) - 1, 0);
    text[got > 0 ? got : 0] = '\0';
    lock->pid = strtol(text, &rest, 10);
    rest += strcspn(rest, "\n");
    rest += *rest == '\n' ? 1 : 0;
    lock->socket_dir = weir_strndup(rest, strcspn(rest, "\n"));
}

static enum weir_status look(const char *data_dir, bool probe, struct cli_lock *ret_lock,
                             struct weir_error *err)
{
    WEIR_AUTO_FREE char *path = weir_format("%s/lock", data_dir);
    WEIR_AUTO_FD int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
    if (fd < 0)
        return explain_absence(data_dir, path, err);
    struct cli_lock lock = {.held = probe && flock(fd, LOCK_SH | LOCK_NB) != 0};
    read_lines(fd, &lock);
    *ret_lock = lock;
    return WEIR_OK;
}

enum weir_status cli_lock_read(const char *data_dir, struct cli_lock *ret_lock,
                               struct weir_error *err)
{
    return look(data_dir, false, ret_lock, err);
}

enum weir_status cli_lock_look(const char *data_dir, struct cli_lock *ret_lock,
                               struct weir_error *err)
{
    return look(data_dir, true, ret_lock, err);
}

void cli_lock_fini(struct cli_lock *lock)
{
    free(lock->socket_dir);
    lock->socket_dir = NULL;
}
