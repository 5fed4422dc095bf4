/* Processes that outlive a program of the user. */
#include "preprocess/operators/exec/strays.h"

#include "core/base/memory.h"
#include "core/base/rng.h"

#include <dirent.h>
#include <fcntl.h>
#include <inttypes.h>
#include <poll.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum {
    READ_MAX =
        64 << 10, /* of an environment: the mark is at its front, unless somebody has moved it */
    ROUNDS_MAX = 200,
    ROUND_MS = 5,
    START_FIELD = 22, /* of /proc/PID/stat: when it started, in ticks since the machine did */
};

static const char NAME[] = "WEIR_PROGRAM=";

/* A process that starts programs. Process numbers are used again, and mean something in their namespace only. */
struct starter {
    uint64_t namespace;
    uint64_t started;
    int pid;
};

static size_t read_of(int pid, const char *what, char *to, size_t room)
{
    char path[64];
    snprintf(path, sizeof(path), "/proc/%d/%s", pid, what);
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    ssize_t got = fd < 0 ? -1 : read(fd, to, room);
    if (fd >= 0)
        (void)close(fd);
    return got > 0 ? (size_t)got : 0;
}

/* 0: there is no such process. */
static uint64_t started(int pid)
{
    char text[1024];
    size_t size = read_of(pid, "stat", text, sizeof(text) - 1);
    text[size] = '\0';
    const char *at = strrchr(text, ')'); /* after its name, which may hold anything */
    for (int field = 2; at != NULL && field < START_FIELD; field++)
        at = strchr(at + 1, ' ');
    return at != NULL ? strtoull(at, NULL, 10) : 0;
}

static uint64_t namespace_of_pids(void)
{
    struct stat about;
    return stat("/proc/self/ns/pid", &about) == 0 ? about.st_ino : 0;
}

void preprocess_strays_mark(char mark[STRAYS_MARK_MAX])
{
    snprintf(mark, STRAYS_MARK_MAX, "%s%" PRIu64 ".%d.%" PRIu64 ".%" PRIx64, NAME,
             namespace_of_pids(), (int)getpid(), started((int)getpid()), weir_random_u64());
}

/* ---- looking ---- */

/* The mark in an environment: texts that end with 0, the last one perhaps without. NULL: there is none. */
static const char *mark_in(const char *environment, size_t size)
{
    for (size_t at = 0; at < size; at += strnlen(environment + at, size - at) + 1) {
        bool is_whole = memchr(environment + at, '\0', size - at) != NULL;
        if (is_whole && strncmp(environment + at, NAME, sizeof(NAME) - 1) == 0)
            return environment + at;
    }
    return NULL;
}

static bool is_of_the_dead(const char *mark)
{
    struct starter of = {0};
    if (sscanf(mark + sizeof(NAME) - 1, "%" SCNu64 ".%d.%" SCNu64, &of.namespace, &of.pid,
               &of.started) != 3)
        return false;
    return of.namespace == namespace_of_pids() && started(of.pid) != of.started;
}

/* `wanted` NULL: of those that are no more. */
static bool is_stray(int pid, const char *wanted, char *environment)
{
    const char *mark = mark_in(environment, read_of(pid, "environ", environment, READ_MAX));
    if (mark == NULL)
        return false;
    return wanted != NULL ? strcmp(mark, wanted) == 0 : is_of_the_dead(mark);
}

/* Returns how many it has killed, some perhaps once more. */
static size_t kill_all(const char *wanted, char *environment)
{
    size_t killed = 0;
    DIR *processes = opendir("/proc");
    for (const struct dirent *one; processes != NULL && (one = readdir(processes)) != NULL;) {
        int pid = (int)strtol(one->d_name, NULL, 10);
        if (pid > 1 && pid != getpid() && is_stray(pid, wanted, environment))
            killed += kill(pid, SIGKILL) == 0;
    }
    if (processes != NULL)
        (void)closedir(processes);
    return killed;
}

/* Until a look finds nobody: what was killed takes a moment to be gone, and may have started more before. */
static void end_all(const char *wanted)
{
    WEIR_AUTO_FREE char *environment = weir_calloc(READ_MAX, 1);
    struct pollfd nothing = {.fd = -1};
    for (int i = 0; i < ROUNDS_MAX && kill_all(wanted, environment) > 0; i++)
        (void)poll(&nothing, 1, ROUND_MS);
}

void preprocess_strays_end(const char *mark)
{
    end_all(mark);
}

void preprocess_strays_end_of_the_dead(void)
{
    end_all(NULL);
}
