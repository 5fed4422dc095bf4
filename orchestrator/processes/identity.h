/* The user that Weir's processes run as when the first of them is started as root. Only the platform changes
 * identities; everybody else runs as whoever started it. docs/decisions/003-privileges.md has the
 * rule and its price. */
#ifndef ORCHESTRATOR_PROCESSES_IDENTITY_H
#define ORCHESTRATOR_PROCESSES_IDENTITY_H

#include "core/base/error.h"

#include <stddef.h>
#include <sys/types.h>

enum { WEIR_IDENTITY_GROUPS_MAX = 64, WEIR_IDENTITY_NAME_MAX = 64, WEIR_IDENTITY_HOME_MAX = 256 };

/* A plain value, complete before a fork: a child needs no user database to become it. */
struct orchestrator_identity {
    uid_t uid;
    gid_t gid;
    gid_t groups[WEIR_IDENTITY_GROUPS_MAX];
    int group_count;
    char name[WEIR_IDENTITY_NAME_MAX];
    char home[WEIR_IDENTITY_HOME_MAX]; /* its home folder, for HOME */
};

/* The user to drop to: `wanted` when given, else the owner of the data directory unless that is
 * root, else `weir`, else `postgres`. NOT_FOUND with what to do when there is none; DENIED when
 * `wanted` is root. */
enum weir_status orchestrator_identity_choose(const char *wanted, uid_t owner,
                                              struct orchestrator_identity *ret_identity,
                                              struct weir_error *err) WEIR_MUST_USE;

/* Becomes `identity` for good; who was to end with its parent still is. Returns 0 or an errno; async-signal-safe. */
int orchestrator_identity_become(const struct orchestrator_identity *identity);

struct orchestrator_reach {
    const char *path;
    int mode; /* as access() takes it */
};
/* Index of the first of `paths` that `identity` cannot use as asked, or -1. Asks the kernel, as
 * that user, in a child: permissions are more than mode bits. */
int orchestrator_identity_unreachable(const struct orchestrator_identity *identity,
                                      const struct orchestrator_reach *paths, size_t count);

#endif
