/* Passes over /proc/PID/environ. */
#include "orchestrator/processes/strays.h"

#include "core/base/file.h"
#include "core/base/memory.h"

#include <dirent.h>
#include <fcntl.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/types.h>
#include <unistd.h>

enum {
    ENVIRONMENT_MAX = 64 << 10,
    PASSES_MAX = 8, /* who is killed may have started another one meanwhile */
};

static const char TOKEN[] = "WEIR_TOKEN=", RANK[] = "WEIR_RANK=", ATTENDED[] = "WEIR_ATTENDED=";

static const char *value_of(char *const *env, const char *name)
{
    for (size_t i = 0; env != NULL && env[i] != NULL; i++)
        if (strncmp(env[i], name, strlen(name)) == 0)
            return env[i];
    return NULL;
}

/* True when an environment, texts that end with 0, has one that begins with `text`; the last text may be cut off. */
static bool has(const char *environment, size_t size, const char *text, bool is_whole)
{
    size_t length = strlen(text) + (is_whole ? 1 : 0);

    for (size_t at = 0; at < size; at += strnlen(environment + at, size - at) + 1)
        if (size - at >= length && memcmp(environment + at, text, length) == 0)
            return true;
    return false;
}

static bool is_stray(int proc, const char *pid, const char *token, const char *rank,
                     char *environment)
{
    char path[32];
    int written = snprintf(path, sizeof(path), "%.16s/environ", pid);
    WEIR_AUTO_FD int fd = written > 0 ? openat(proc, path, O_RDONLY | O_CLOEXEC) : -1;
    ssize_t got = fd < 0 ? -1 : read(fd, environment, ENVIRONMENT_MAX);
    size_t size = got > 0 ? (size_t)got : 0;

    return has(environment, size, token, true) && has(environment, size, rank, true) &&
           !has(environment, size, ATTENDED, false);
}

static size_t kill_all(const char *token, const char *rank, char *environment)
{
    size_t killed = 0;
    DIR *proc = opendir("/proc");
    const struct dirent *entry = NULL;

    while (proc != NULL && (entry = readdir(proc)) != NULL) {
        pid_t pid = (pid_t)strtol(entry->d_name, NULL, 10);
        if (pid > 1 && is_stray(dirfd(proc), entry->d_name, token, rank, environment))
            killed += kill(pid, SIGKILL) == 0;
    }
    if (proc != NULL)
        (void)closedir(proc);
    return killed;
}

void orchestrator_strays_end(char *const *env)
{
    const char *token = value_of(env, TOKEN), *rank = value_of(env, RANK);

    if (token == NULL || rank == NULL)
        return;
    WEIR_AUTO_FREE char *environment = weir_calloc(ENVIRONMENT_MAX, 1);
    for (int i = 0; i < PASSES_MAX && kill_all(token, rank, environment) > 0; i++)
        continue;
}
