/* Opens a data directory: path, lock, identity, layout; each step leaves what a second try accepts. */
#include "orchestrator/platform/datadir.h"

#include "core/base/dumps.h"
#include "core/base/file.h"
#include "core/base/hash.h"
#include "core/base/log.h"
#include "core/base/memory.h"
#include "core/base/rng.h"
#include "core/service/service.h"
#include "orchestrator/platform/layout.h"
#include "orchestrator/platform/ownership.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <libgen.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

/* sun_path holds 107 characters; the longest socket beside a slash is "trainer/worker-NNNN.sock" or
 * Postgres' "../.s.PGSQL.5432", and libzmq wants some room too. */
enum { SOCKET_DIR_MAX = 76, LOCK_TEXT_MAX = 4200, LOCK_TRIES_MAX = 30, LOCK_RETRY_MS = 10 };

static const char OUTSIDE_BASE[] = "/var/lib/weir";

static char *path_hash(const struct orchestrator_datadir *datadir)
{
    struct weir_digest digest = weir_digest_of(weir_bytes_of(datadir->path));
    char text[WEIR_DIGEST_TEXT_MAX];
    weir_digest_text(&digest, text);
    return weir_strndup(text, 16);
}

/* Parents are made for everybody to pass through, the directory itself for its owner alone. */
static enum weir_status make_path(struct orchestrator_datadir *datadir, const char *wanted,
                                  struct weir_error *err)
{
    WEIR_AUTO_FREE char *parent = weir_strdup(wanted);
    size_t length = strlen(parent);
    while (length > 1 && parent[length - 1] == '/')
        parent[--length] = '\0';
    WEIR_AUTO_FREE char *self = weir_strdup(parent);
    char *slash = strrchr(parent, '/');
    if (slash != NULL && slash != parent) {
        *slash = '\0';
        enum weir_status status = weir_make_directories(parent, 0755, err);
        if (status != WEIR_OK)
            return weir_error_wrap(err, status, "data directory");
    }
    enum weir_status status = weir_make_directories(self, 0700, err);
    if (status != WEIR_OK)
        return weir_error_wrap(err, status, "data directory");
    datadir->path = realpath(self, NULL);
    if (datadir->path == NULL)
        return weir_fail(err, WEIR_IO, "data directory %s: %s", self, strerror(errno));
    return WEIR_OK;
}

static enum weir_status refuse_foreign(const struct orchestrator_datadir *datadir,
                                       struct weir_error *err)
{
    struct stat found;
    if (stat(datadir->path, &found) == 0 && found.st_uid != geteuid() && geteuid() != 0)
        return weir_fail(
            err, WEIR_DENIED,
            "data directory %s belongs to user number %u, this process runs as %u: run "
            "as that user, or name another directory with --data-dir",
            datadir->path, found.st_uid, geteuid());
    return WEIR_OK;
}

/* Content of the lock file: "PID\nSOCKET_DIR\n". */
static void read_lock(const struct orchestrator_datadir *datadir, char text[LOCK_TEXT_MAX])
{
    WEIR_AUTO_FREE char *path = orchestrator_datadir_file(datadir, ORCHESTRATOR_LAYOUT_LOCK);
    WEIR_AUTO_FD int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
    ssize_t got = fd < 0 ? 0 : pread(fd, text, LOCK_TEXT_MAX - 1, 0);
    text[got > 0 ? got : 0] = '\0';
}

static enum weir_status refuse_second(const struct orchestrator_datadir *datadir,
                                      struct weir_error *err)
{
    char text[LOCK_TEXT_MAX], who[64] = "another process (its lock file was removed)";
    read_lock(datadir, text);
    if (text[0] != '\0')
        (void)snprintf(who, sizeof(who), "process %ld", strtol(text, NULL, 10));
    return weir_fail(err, WEIR_LIMIT,
                     "data directory %s is in use by %s: stop that one first, or name another "
                     "directory with --data-dir",
                     datadir->path, who);
}

/* A process that only looks whether the lock is held holds it for a moment. */
static bool lock_soon(int fd)
{
    const struct timespec pause = {.tv_nsec = LOCK_RETRY_MS * 1000000L};
    for (int tries = 0; flock(fd, LOCK_EX | LOCK_NB) != 0; tries++) {
        if (errno != EWOULDBLOCK || tries == LOCK_TRIES_MAX)
            return false;
        (void)nanosleep(&pause, NULL);
    }
    return true;
}

/* Opens a directory and locks it: no file in it can be removed to undo that. -1 with errno. */
static int lock_directory(const char *path)
{
    int fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (fd < 0 || lock_soon(fd))
        return fd;
    (void)close(fd);
    errno = EWOULDBLOCK;
    return -1;
}

/* The directory itself is what is locked; the file is for those who look, and for Weir of before. */
static enum weir_status take_lock(struct orchestrator_datadir *datadir, struct weir_error *err)
{
    WEIR_AUTO_FREE char *path = orchestrator_datadir_file(datadir, ORCHESTRATOR_LAYOUT_LOCK);
    datadir->directory_fd = lock_directory(datadir->path);
    if (datadir->directory_fd < 0 && errno == EWOULDBLOCK)
        return refuse_second(datadir, err);
    if (datadir->directory_fd < 0)
        return weir_fail(err, WEIR_IO, "data directory %s: cannot be locked: %s", datadir->path,
                         strerror(errno));
    enum weir_status status = orchestrator_layout_check(datadir->path, err);
    if (status != WEIR_OK)
        return status;
    datadir->lock_fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0644);
    if (datadir->lock_fd < 0)
        return weir_fail(err, WEIR_IO, "data directory %s cannot be written to: %s: %s",
                         datadir->path, path, strerror(errno));
    return lock_soon(datadir->lock_fd) ? WEIR_OK : refuse_second(datadir, err);
}

static enum weir_status write_lock(const struct orchestrator_datadir *datadir,
                                   struct weir_error *err)
{
    char text[LOCK_TEXT_MAX];
    int length = snprintf(text, sizeof(text), "%ld\n%s\n", (long)getpid(), datadir->socket_dir);
    if (ftruncate(datadir->lock_fd, 0) != 0 ||
        pwrite(datadir->lock_fd, text, (size_t)length, 0) != length)
        return weir_fail(err, WEIR_IO, "data directory %s: cannot write its lock: %s",
                         datadir->path, strerror(errno));
    return WEIR_OK;
}

/* The folder around the data directory, as far as there is one; in the caller's memory. */
static char *folder_around(const char *path)
{
    WEIR_AUTO_FREE char *around = weir_format("%s/..", path);
    char *folder = around;
    while (access(folder, F_OK) != 0)
        folder = dirname(folder);
    char *resolved = realpath(folder, NULL);
    return resolved != NULL ? resolved : weir_strdup("/");
}

enum weir_status orchestrator_datadir_user(const struct orchestrator_datadir_options *options,
                                           struct orchestrator_identity *ret_identity,
                                           char **ret_missed, struct weir_error *err)
{
    struct stat found = {.st_uid = 0};
    const char *bin_dir = options->bin_dir != NULL ? options->bin_dir : "";
    WEIR_AUTO_FREE char *around = folder_around(options->path);
    WEIR_AUTO_FREE char *program = weir_format("%s/storage", bin_dir);
    const struct orchestrator_reach paths[] = {
        {around, X_OK},
        {*bin_dir != '\0' ? bin_dir : "/", R_OK | X_OK},
        {program, X_OK}, /* may be a link to where only root may go */
    };
    size_t count = WEIR_COUNT(paths) - (access(program, X_OK) != 0);
    (void)stat(options->path, &found); /* it may not be there yet */
    enum weir_status status =
        orchestrator_identity_choose(options->user, found.st_uid, ret_identity, err);
    if (status != WEIR_OK)
        return status;
    int missed = orchestrator_identity_unreachable(ret_identity, paths, count);
    *ret_missed = missed < 0 ? NULL : weir_strdup(paths[missed].path);
    return WEIR_OK;
}

/* As root: hands the directory to its user and becomes that user. */
static enum weir_status become_owner(struct orchestrator_datadir *datadir,
                                     const struct orchestrator_datadir_options *options,
                                     struct weir_error *err)
{
    const struct orchestrator_datadir_options made = {datadir->path, options->user,
                                                      options->bin_dir};
    WEIR_AUTO_FREE char *missed = NULL;
    enum weir_status status = orchestrator_datadir_user(&made, &datadir->identity, &missed, err);
    if (status != WEIR_OK)
        return status;
    datadir->cluster_drops = missed != NULL;
    if (missed != NULL) {
        weir_log(
            WEIR_LOG_WARN,
            "Weir stays root except for Postgres: the unprivileged user cannot reach this path",
            "user=%s path=%s", datadir->identity.name, missed);
        return WEIR_OK;
    }
    if (fchown(datadir->lock_fd, datadir->identity.uid, datadir->identity.gid) != 0)
        return weir_fail(err, WEIR_IO, "data directory %s: cannot give its lock to user %s: %s",
                         datadir->path, datadir->identity.name, strerror(errno));
    status = orchestrator_ownership_give(datadir->path, &datadir->identity, err);
    if (status != WEIR_OK)
        return status;
    int failed = orchestrator_identity_become(&datadir->identity);
    if (failed)
        return weir_fail(err, WEIR_IO, "cannot become user %s: %s", datadir->identity.name,
                         strerror(failed));
    /* Libraries look there for certificates and profiles: root's may not be read. */
    (void)setenv("HOME", datadir->identity.home, 1);
    /* The change of identity forbids debuggers and the leak checker, which developers want: nothing of root's is left
     * in this memory. */
    (void)prctl(PR_SET_DUMPABLE, 1);
    weir_dumps_forbid(true);
    return WEIR_OK;
}

/* The directory that the lock file names, if it is still there, ours, and of this data directory and no copy. */
static char *former_sockets(const struct orchestrator_datadir *datadir, const char *prefix)
{
    char text[LOCK_TEXT_MAX];
    struct stat found;
    read_lock(datadir, text);
    const char *line = strchr(text, '\n');
    if (line == NULL || strncmp(line + 1, prefix, strlen(prefix)) != 0)
        return NULL;
    WEIR_AUTO_FREE char *path = weir_strndup(line + 1, strcspn(line + 1, "\n"));
    bool is_ours = lstat(path, &found) == 0 && S_ISDIR(found.st_mode) &&
                   found.st_uid == geteuid() && (found.st_mode & 077) == 0;
    return is_ours ? WEIR_TAKE(path) : NULL;
}

/* A name that cannot be foretold: whoever else may write to /tmp could take it first. */
static enum weir_status make_short_sockets(struct orchestrator_datadir *datadir,
                                           struct weir_error *err)
{
    WEIR_AUTO_FREE char *hash = path_hash(datadir);
    WEIR_AUTO_FREE char *prefix = weir_format("/tmp/weir-%s-", hash);
    free(datadir->socket_dir);
    datadir->socket_dir = former_sockets(datadir, prefix);
    if (datadir->socket_dir != NULL)
        return WEIR_OK;
    datadir->socket_dir = weir_format("%sXXXXXX", prefix);
    if (mkdtemp(datadir->socket_dir) == NULL)
        return weir_fail(err, WEIR_IO, "%s: cannot be made for sockets: %s", datadir->socket_dir,
                         strerror(errno));
    return WEIR_OK;
}

static enum weir_status choose_sockets(struct orchestrator_datadir *datadir, struct weir_error *err)
{
    datadir->socket_dir = orchestrator_datadir_file(datadir, ORCHESTRATOR_LAYOUT_SOCKETS);
    enum weir_status status =
        strlen(datadir->socket_dir) > SOCKET_DIR_MAX
            ? make_short_sockets(datadir, err)
            : orchestrator_ownership_private_directory(datadir->socket_dir, geteuid(), err);
    if (status != WEIR_OK)
        return status;
    datadir->trainer_dir = weir_service_trainer_dir(datadir->socket_dir);
    return orchestrator_ownership_private_directory(datadir->trainer_dir, geteuid(), err);
}

/* A copied data directory names the cluster of the one it was copied from. */
static enum weir_status lock_base(struct orchestrator_datadir *datadir, const char *base,
                                  struct weir_error *err)
{
    datadir->base_fd = lock_directory(base);
    if (datadir->base_fd >= 0)
        return WEIR_OK;
    if (errno != EWOULDBLOCK)
        return weir_fail(err, WEIR_IO, "%s: cannot be locked: %s", base, strerror(errno));
    return weir_fail(err, WEIR_LIMIT,
                     "the database in %s is in use by another platform than that of %s: stop that "
                     "one first",
                     base, datadir->path);
}

/* Decides once where the cluster lies, and notes it in the location file. A random part in
 * its name keeps a directory made again from finding the database of the one it replaced. */
static enum weir_status choose_cluster(struct orchestrator_datadir *datadir, struct weir_error *err)
{
    WEIR_AUTO_FREE char *location =
        orchestrator_datadir_file(datadir, ORCHESTRATOR_LAYOUT_CLUSTER_LOCATION);
    WEIR_AUTO_BUF text = {0};
    WEIR_AUTO_FREE char *base = NULL;
    enum weir_status status = weir_file_read(location, PATH_MAX, &text, err);
    if (status == WEIR_OK) {
        base = weir_strndup(weir_buf_text(&text), strcspn(weir_buf_text(&text), "\n"));
    } else if (!datadir->cluster_drops) {
        datadir->cluster = orchestrator_datadir_file(datadir, ORCHESTRATOR_LAYOUT_CLUSTER);
        /* Of its own, so that it can be hidden from trainers. */
        datadir->cluster_socket_dir = weir_format("%s/db", datadir->socket_dir);
        return orchestrator_ownership_private_directory(datadir->cluster_socket_dir, geteuid(),
                                                        err);
    } else {
        WEIR_AUTO_FREE char *hash = path_hash(datadir);
        base = weir_format("%s/%s-%08" PRIx32, OUTSIDE_BASE, hash, (uint32_t)weir_random_u64());
        status = weir_file_write_atomic(location, weir_bytes_of(base), err);
        if (status != WEIR_OK)
            return status;
    }
    datadir->cluster = weir_format("%s/postgres", base);
    datadir->cluster_socket_dir = weir_format("%s/run", base);
    uid_t user = datadir->cluster_drops ? datadir->identity.uid : geteuid();
    if (geteuid() == 0 && (status = weir_make_directories(OUTSIDE_BASE, 0755, err)) != WEIR_OK)
        return status;
    weir_log(WEIR_LOG_INFO, "the Postgres cluster lies outside the data directory", "path=%s",
             datadir->cluster);
    status = orchestrator_ownership_private_directory(base, user, err);
    if (status == WEIR_OK)
        status = lock_base(datadir, base, err);
    return status != WEIR_OK
               ? status
               : orchestrator_ownership_private_directory(datadir->cluster_socket_dir, user, err);
}

static enum weir_status open_steps(struct orchestrator_datadir *datadir,
                                   const struct orchestrator_datadir_options *options,
                                   struct weir_error *err)
{
    enum weir_status status = make_path(datadir, options->path, err);
    if (status == WEIR_OK)
        status = refuse_foreign(datadir, err);
    if (status == WEIR_OK)
        status = take_lock(datadir, err);
    if (status == WEIR_OK && geteuid() == 0)
        status = become_owner(datadir, options, err);
    if (status == WEIR_OK)
        status = choose_sockets(datadir, err);
    if (status == WEIR_OK)
        status = write_lock(datadir, err);
    if (status == WEIR_OK)
        status = choose_cluster(datadir, err);
    if (status == WEIR_OK)
        status = orchestrator_layout_make(datadir->path, err);
    return status;
}

enum weir_status orchestrator_datadir_open(const struct orchestrator_datadir_options *options,
                                           struct orchestrator_datadir **ret_datadir,
                                           struct weir_error *err)
{
    WEIR_AUTO(orchestrator_datadir) datadir = weir_calloc(1, sizeof(*datadir));
    datadir->lock_fd = datadir->directory_fd = datadir->base_fd = -1;
    enum weir_status status = open_steps(datadir, options, err);
    if (status != WEIR_OK)
        return status;
    *ret_datadir = WEIR_TAKE(datadir);
    return WEIR_OK;
}

void orchestrator_datadir_close(struct orchestrator_datadir *datadir)
{
    if (datadir == NULL)
        return;
    const int fds[] = {datadir->base_fd, datadir->lock_fd, datadir->directory_fd};
    for (size_t i = 0; i < WEIR_COUNT(fds); i++)
        if (fds[i] >= 0)
            (void)close(fds[i]);
    free(datadir->path);
    free(datadir->socket_dir);
    free(datadir->trainer_dir);
    free(datadir->cluster);
    free(datadir->cluster_socket_dir);
    free(datadir);
}

char *orchestrator_datadir_file(const struct orchestrator_datadir *datadir, const char *name)
{
    return weir_format("%s/%s", datadir->path, name);
}
