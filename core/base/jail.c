/* Landlock only knows what is allowed: so everything around the closed directories is. */
#include "core/base/jail.h"

#include "core/base/fault.h"
#include "core/base/file.h"
#include "core/base/memory.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/landlock.h>
#include <linux/seccomp.h>
#include <sched.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

enum { CLOSED_MAX = 8 };
static const uint32_t NO_FAMILY = UINT32_MAX;

/* As newer kernels know it; an older one is given its own, shorter one. */
struct rules_about {
    uint64_t files, ports, scopes;
};

static const uint64_t ON_FILES =
    LANDLOCK_ACCESS_FS_EXECUTE | LANDLOCK_ACCESS_FS_WRITE_FILE | LANDLOCK_ACCESS_FS_READ_FILE;
static const uint64_t OF_FIRST_VERSION = (1 << 13) - 1;
static const uint64_t TRUNCATE = 1 << 14, SCOPES = 3; /* abstract sockets and signals */

enum { REFER_VERSION = 2, TRUNCATE_VERSION = 3, PORTS_VERSION = 4, SCOPES_VERSION = 6 };

static int kernel_version(void)
{
    return (int)syscall(SYS_landlock_create_ruleset, NULL, 0, LANDLOCK_CREATE_RULESET_VERSION);
}

bool weir_jail_is_possible(void)
{
    return kernel_version() > 0;
}

bool weir_jail_keeps_signals(void)
{
    return kernel_version() >= SCOPES_VERSION && !weir_fault("jail.signals");
}

static uint64_t handled(int version)
{
    return OF_FIRST_VERSION | (version >= REFER_VERSION ? LANDLOCK_ACCESS_FS_REFER : 0) |
           (version >= TRUNCATE_VERSION ? TRUNCATE : 0);
}

/* ---- what stays open ---- */

struct building {
    int rules;
    uint64_t all;             /* rights on files that the kernel knows */
    char *closed[CLOSED_MAX]; /* without symbolic links */
    size_t count;
};

static void allow(const struct building *building, const char *path, uint64_t access)
{
    WEIR_AUTO_FD int fd = open(path, O_PATH | O_CLOEXEC | O_NOFOLLOW);
    struct stat about;
    if (fd < 0 || fstat(fd, &about) != 0 || S_ISLNK(about.st_mode))
        return;
    if (!S_ISDIR(about.st_mode))
        access &= ON_FILES | TRUNCATE;
    const struct landlock_path_beneath_attr rule = {.allowed_access = access & building->all,
                                                    .parent_fd = fd};
    (void)syscall(SYS_landlock_add_rule, building->rules, LANDLOCK_RULE_PATH_BENEATH, &rule, 0);
}

/* Of a closed directory: is it this one, or does the way to it lead through this one? */
static bool is_on_the_way(const struct building *building, const char *path, bool *ret_is_closed)
{
    size_t size = strcmp(path, "/") == 0 ? 0 : strlen(path);
    bool leads = false;
    *ret_is_closed = false;
    for (size_t i = 0; i < building->count; i++) {
        const char *closed = building->closed[i];
        if (strncmp(closed, path, size) != 0)
            continue;
        *ret_is_closed = *ret_is_closed || closed[size] == '\0';
        leads = leads || closed[size] == '/';
    }
    return leads;
}

static void allow_around(const struct building *building, const char *path)
{
    bool is_closed;
    bool leads = is_on_the_way(building, path, &is_closed);
    if (is_closed)
        return;
    if (!leads) {
        allow(building, path, building->all);
        return;
    }
    DIR *directory = opendir(path);
    if (directory == NULL)
        return;
    const struct dirent *entry;
    while ((entry = readdir(directory)) != NULL) {
        if (strcmp(entry->d_name, ".") == 0 || strcmp(entry->d_name, "..") == 0)
            continue;
        WEIR_AUTO_FREE char *inside =
            weir_format("%s/%s", strcmp(path, "/") == 0 ? "" : path, entry->d_name);
        allow_around(building, inside);
    }
    (void)closedir(directory);
}

static void allow_each(const struct building *building, const char *const *paths, uint64_t access)
{
    for (; paths != NULL && *paths != NULL; paths++) {
        WEIR_AUTO_FREE char *path = realpath(*paths, NULL);
        if (path != NULL)
            allow(building, path, access);
    }
}

static void note_closed(struct building *building, const char *const *paths)
{
    for (; paths != NULL && *paths != NULL; paths++) {
        weir_require(building->count < CLOSED_MAX);
        building->closed[building->count] = realpath(*paths, NULL);
        building->count += building->closed[building->count] != NULL;
    }
}

enum weir_status weir_jail_prepare(const struct weir_jail *jail, int *ret_rules,
                                   struct weir_error *err)
{
    int version = kernel_version();
    *ret_rules = -1;
    if (version <= 0)
        return WEIR_OK;
    const struct rules_about about = {.files = handled(version), .scopes = SCOPES};
    size_t size = version >= SCOPES_VERSION  ? sizeof(about)
                  : version >= PORTS_VERSION ? offsetof(struct rules_about, scopes)
                                             : offsetof(struct rules_about, ports);
    struct building building = {.all = about.files};
    building.rules = (int)syscall(SYS_landlock_create_ruleset, &about, size, 0);
    if (building.rules < 0 || weir_fault("jail.prepare")) {
        enum weir_status status = weir_fail(err, WEIR_IO, "cannot make a jail: %s",
                                            strerror(building.rules < 0 ? errno : EIO));
        if (building.rules >= 0)
            (void)close(building.rules);
        return status;
    }
    note_closed(&building, jail->closed);
    allow_around(&building, "/");
    allow_each(&building, jail->open, building.all);
    allow_each(&building, jail->readable, LANDLOCK_ACCESS_FS_READ_FILE);
    for (size_t i = 0; i < building.count; i++)
        free(building.closed[i]);
    *ret_rules = building.rules;
    return WEIR_OK;
}

/* ---- going in ---- */

/* All sockets but those of `family`. Calls have other numbers under another architecture, which ends the process. */
static int forbid_sockets(uint32_t family)
{
#if defined(__x86_64__) || defined(__aarch64__)
#if defined(__x86_64__)
    const uint32_t architecture = AUDIT_ARCH_X86_64, foreign = 0x40000000;
#else
    const uint32_t architecture = AUDIT_ARCH_AARCH64, foreign = 0x7fffffff;
#endif
    struct sock_filter rules[] = {
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, arch)),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, architecture, 1, 0),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_KILL_PROCESS),
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
        BPF_JUMP(BPF_JMP | BPF_JGE | BPF_K, foreign, 4, 0),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_io_uring_setup, 3, 0),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_socket, 0, 3),
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, args[0])),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, family, 1, 0),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EACCES),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
    };
    const struct sock_fprog program = {.len = WEIR_COUNT(rules), .filter = rules};
    if (prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) != 0 && errno != EINVAL)
        return errno; /* EINVAL: a kernel without */
#endif
    return 0;
}

static bool put(const char *path, const char *text)
{
    int fd = open(path, O_WRONLY | O_CLOEXEC);
    bool is_written = fd >= 0 && write(fd, text, strlen(text)) == (ssize_t)strlen(text);
    if (fd >= 0)
        (void)close(fd);
    return is_written;
}

/* A user namespace in which this user is who he is, and nobody else is anybody; with mounts of its own. */
static bool go_apart(void)
{
    unsigned user = geteuid(), group = getegid();
    char map[64];
    (void)prctl(PR_SET_DUMPABLE, 1); /* or the files below are root's; exec() would do the same */
    if (user == 0 || unshare(CLONE_NEWUSER | CLONE_NEWNS) != 0 ||
        !put("/proc/self/setgroups", "deny"))
        return false;
    (void)snprintf(map, sizeof(map), "%u %u 1", user, user);
    if (!put("/proc/self/uid_map", map))
        return false;
    (void)snprintf(map, sizeof(map), "%u %u 1", group, group);
    return put("/proc/self/gid_map", map);
}

/* Takes `shown` up before its directory is covered, and puts it back on top. */
static int hide(const struct weir_jail *jail)
{
    int shown = -1;
    if (!go_apart())
        return EPERM;
    if (jail->shown != NULL &&
        (shown = open_tree(AT_FDCWD, jail->shown, OPEN_TREE_CLONE | OPEN_TREE_CLOEXEC)) < 0)
        return errno;
    for (const char *const *path = jail->hidden; *path != NULL; path++)
        if (mount("none", *path, "tmpfs", MS_NOSUID | MS_NODEV | MS_NOEXEC, "size=4k,mode=0100"))
            return errno;
    if (shown >= 0 && (mkdir(jail->shown, 0100) != 0 ||
                       move_mount(shown, "", AT_FDCWD, jail->shown, MOVE_MOUNT_F_EMPTY_PATH) != 0))
        return errno;
    return 0;
}

bool weir_jail_can_hide(const struct weir_jail *jail)
{
    int ended = 0;
    pid_t pid = weir_fault("jail.hide") ? -1 : fork();
    if (pid == 0)
        _exit(hide(jail) == 0 ? 0 : 1);
    while (pid > 0 && waitpid(pid, &ended, 0) < 0 && errno == EINTR)
        continue;
    return pid > 0 && WIFEXITED(ended) && WEXITSTATUS(ended) == 0;
}

int weir_jail_enter(const struct weir_jail *jail, int rules)
{
    int failed = jail->hidden != NULL ? hide(jail) : 0;
    if (failed != 0)
        return failed;
    if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0)
        return errno;
    if (rules >= 0 && syscall(SYS_landlock_restrict_self, rules, 0) != 0)
        return errno;
    if (jail->sockets == WEIR_JAIL_ALL_SOCKETS)
        return 0;
    return forbid_sockets(jail->sockets == WEIR_JAIL_LOCAL_SOCKETS ? AF_UNIX : NO_FAMILY);
}
