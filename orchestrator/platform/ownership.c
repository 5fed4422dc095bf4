/* Changes owners without ever following a symbolic link. */
#include "orchestrator/platform/ownership.h"

#include "core/base/file.h"
#include "core/base/memory.h"

#include <errno.h>
#include <fcntl.h>
#include <fts.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static const char *const ENTRIES[] = {
    "lock", "secret", "receipt.key", "postgres", "postgres.location", "run",   "log", "storage",
    "sets", "runs",   "models",      "fitted",   "receipts",          "scores"};

static enum weir_status give_tree(char *path, const struct orchestrator_identity *identity,
                                  struct weir_error *err)
{
    char *roots[] = {path, NULL};
    FTS *walk = fts_open(roots, FTS_PHYSICAL | FTS_NOCHDIR | FTS_XDEV, NULL);
    if (walk == NULL)
        return weir_fail(err, WEIR_IO, "%s: cannot be walked: %s", path, strerror(errno));
    enum weir_status status = WEIR_OK;
    for (FTSENT *entry; status == WEIR_OK && (entry = fts_read(walk)) != NULL;) {
        if (entry->fts_info == FTS_DP || entry->fts_info == FTS_NS)
            continue; /* seen on the way down, or gone meanwhile */
        if (lchown(entry->fts_accpath, identity->uid, identity->gid) != 0 && errno != ENOENT)
            status = weir_fail(err, WEIR_IO, "%s: cannot be given to user %s: %s", entry->fts_path,
                               identity->name, strerror(errno));
    }
    (void)fts_close(walk);
    return status;
}

enum weir_status orchestrator_ownership_give(const char *path,
                                             const struct orchestrator_identity *identity,
                                             struct weir_error *err)
{
    struct stat found;
    if (lstat(path, &found) != 0)
        return weir_fail(err, WEIR_IO, "%s: %s", path, strerror(errno));
    if (found.st_uid == identity->uid)
        return WEIR_OK;
    for (size_t i = 0; i < WEIR_COUNT(ENTRIES); i++) {
        WEIR_AUTO_FREE char *entry = weir_format("%s/%s", path, ENTRIES[i]);
        if (faccessat(AT_FDCWD, entry, F_OK, AT_SYMLINK_NOFOLLOW) != 0)
            continue;
        enum weir_status status = give_tree(entry, identity, err);
        if (status != WEIR_OK)
            return status;
    }
    if (lchown(path, identity->uid, identity->gid) != 0)
        return weir_fail(err, WEIR_IO, "data directory %s: cannot be given to user %s: %s", path,
                         identity->name, strerror(errno));
    return WEIR_OK;
}

enum weir_status orchestrator_ownership_private_directory(const char *path, uid_t user,
                                                          struct weir_error *err)
{
    if (mkdir(path, 0700) != 0 && errno != EEXIST)
        return weir_fail(err, WEIR_IO, "directory %s: cannot be made: %s", path, strerror(errno));
    WEIR_AUTO_FD int fd = open(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    struct stat found;
    if (fd < 0 || fstat(fd, &found) != 0)
        return weir_fail(err, WEIR_DENIED, "%s: expected a directory of ours: %s", path,
                         strerror(errno));
    if (found.st_uid != user && found.st_uid != geteuid())
        return weir_fail(err, WEIR_DENIED,
                         "directory %s belongs to user number %u, expected %u: remove it", path,
                         found.st_uid, user);
    if (found.st_uid != user && fchown(fd, user, (gid_t)-1) != 0)
        return weir_fail(err, WEIR_IO, "directory %s: cannot be given to user number %u: %s", path,
                         user, strerror(errno));
    if ((found.st_mode & 077) && fchmod(fd, 0700) != 0)
        return weir_fail(err, WEIR_IO, "directory %s: cannot be made private: %s", path,
                         strerror(errno));
    return WEIR_OK;
}
