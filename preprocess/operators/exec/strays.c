/* Processes that outlive a program of the user. */
#include "preprocess/operators/exec/strays.h"

#include "core/base/environment.h"
#include "core/base/file.h"
#include "core/base/rng.h"

#include <fcntl.h>
#include <inttypes.h>
#include <poll.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum {
    ROUNDS_MAX = 200,
    ROUND_MS = 5,
    START_FIELD = 22, /* of /proc/PID/stat: when it started, in ticks since the machine did */
};

static const char NAME[] = "WEIR_PROGRAM";

/* A process that starts programs. Process numbers are used again, and mean something in their namespace only. */
struct starter {
    uint64_t namespace;
    uint64_t started;
    int pid;
};

/* 0: there is no such process. */
static uint64_t started(int pid)
{
    char path[32], text[1024];
    (void)snprintf(path, sizeof(path), "/proc/%d/stat", pid);
    WEIR_AUTO_FD int fd = open(path, O_RDONLY | O_CLOEXEC);
    ssize_t got = fd < 0 ? -1 : read(fd, text, sizeof(text) - 1);
    text[got > 0 ? got : 0] = '\0';
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
    snprintf(mark, STRAYS_MARK_MAX, "%s=%" PRIu64 ".%d.%" PRIu64 ".%" PRIx64, NAME,
             namespace_of_pids(), (int)getpid(), started((int)getpid()), weir_random_u64());
}

/* ---- looking ---- */

static bool is_of_the_dead(const char *mark)
{
    struct starter of = {0};
    if (sscanf(mark + sizeof(NAME), "%" SCNu64 ".%d.%" SCNu64, &of.namespace, &of.pid,
               &of.started) != 3)
        return false;
    return of.namespace == namespace_of_pids() && started(of.pid) != of.started;
}

/* `wanted` NULL: of those that are no more. */
static bool is_stray(const void *wanted, struct weir_environment environment)
{
    const char *mark = weir_environment_find(environment, NAME);
    if (mark == NULL)
        return false;
    return wanted != NULL ? strcmp(mark, wanted) == 0 : is_of_the_dead(mark);
}

static void end_all(const char *wanted)
{
    struct pollfd nothing = {.fd = -1};
    for (int i = 0; i < ROUNDS_MAX && weir_strays_kill(is_stray, wanted) > 0; i++)
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
