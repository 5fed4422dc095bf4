/* Looks users up, drops to them, and asks the kernel what they may reach. */
#include "orchestrator/processes/identity.h"

#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <pwd.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

enum { USER_RECORD_MAX = 16384 };

static enum weir_status fill(const struct passwd *user, struct orchestrator_identity *ret_identity,
                             struct weir_error *err)
{
    struct orchestrator_identity identity = {.uid = user->pw_uid, .gid = user->pw_gid};
    if (user->pw_uid == 0)
        return weir_fail(err, WEIR_DENIED, "user '%s' is root: name an unprivileged user to run as",
                         user->pw_name);
    identity.group_count = WEIR_IDENTITY_GROUPS_MAX;
    if (getgrouplist(user->pw_name, user->pw_gid, identity.groups, &identity.group_count) < 0) {
        identity.groups[0] = user->pw_gid; /* in more groups than we carry: its own must do */
        identity.group_count = 1;
    }
    (void)snprintf(identity.name, sizeof(identity.name), "%s", user->pw_name);
    (void)snprintf(identity.home, sizeof(identity.home), "%s", user->pw_dir);
    *ret_identity = identity;
    return WEIR_OK;
}

static enum weir_status find_name(const char *name, struct orchestrator_identity *ret_identity,
                                  struct weir_error *err)
{
    struct passwd record;
    struct passwd *user = NULL;
    char text[USER_RECORD_MAX];
    if (getpwnam_r(name, &record, text, sizeof(text), &user) != 0 || user == NULL)
        return weir_fail(err, WEIR_NOT_FOUND, "there is no user '%s' on this machine", name);
    return fill(user, ret_identity, err);
}

static enum weir_status find_uid(uid_t uid, struct orchestrator_identity *ret_identity,
                                 struct weir_error *err)
{
    struct passwd record;
    struct passwd *user = NULL;
    char text[USER_RECORD_MAX];
    if (getpwuid_r(uid, &record, text, sizeof(text), &user) != 0 || user == NULL)
        return weir_fail(err, WEIR_NOT_FOUND, "there is no user number %u on this machine", uid);
    return fill(user, ret_identity, err);
}

enum weir_status orchestrator_identity_choose(const char *wanted, uid_t owner,
                                              struct orchestrator_identity *ret_identity,
                                              struct weir_error *err)
{
    if (wanted != NULL)
        return find_name(wanted, ret_identity, err);
    if (owner != 0 && find_uid(owner, ret_identity, NULL) == WEIR_OK)
        return WEIR_OK;
    if (find_name("weir", ret_identity, NULL) == WEIR_OK ||
        find_name("postgres", ret_identity, NULL) == WEIR_OK)
        return WEIR_OK;
    return weir_fail(err, WEIR_NOT_FOUND,
                     "started as root, and there is no user 'weir' or 'postgres' to run as: create "
                     "one (useradd --system weir)");
}

int orchestrator_identity_become(const struct orchestrator_identity *identity)
{
    int death_signal = 0;
    pid_t parent = getppid();
    if (prctl(PR_GET_PDEATHSIG, &death_signal) != 0 ||
        setgroups((size_t)identity->group_count, identity->groups) != 0 ||
        setresgid(identity->gid, identity->gid, identity->gid) != 0 ||
        setresuid(identity->uid, identity->uid, identity->uid) != 0 ||
        prctl(PR_SET_PDEATHSIG, death_signal) != 0) /* the kernel has cleared it */
        return errno;
    if (death_signal && getppid() != parent)
        (void)raise(death_signal);
    return 0;
}

int orchestrator_identity_unreachable(const struct orchestrator_identity *identity,
                                      const struct orchestrator_reach *paths, size_t count)
{
    pid_t pid = fork();
    if (pid < 0)
        return 0; /* unknown counts as unreachable: the careful branch */
    if (pid == 0) {
        if (orchestrator_identity_become(identity) != 0)
            _exit(1);
        for (size_t i = 0; i < count; i++)
            if (faccessat(AT_FDCWD, paths[i].path, paths[i].mode, AT_EACCESS) != 0)
                _exit((int)i + 1);
        _exit(0);
    }
    int status = 0;
    while (waitpid(pid, &status, 0) < 0 && errno == EINTR)
        continue;
    return WIFEXITED(status) ? WEXITSTATUS(status) - 1 : 0;
}
