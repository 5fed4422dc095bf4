/* Passes over /proc/PID/environ. */
#include "core/base/environment.h"

#include "core/base/file.h"
#include "core/base/memory.h"

#include <dirent.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { READ_MAX = 64 << 10 };

bool weir_variable_is(const char *variable, const char *name)
{
    size_t size = strlen(name);
    return strncmp(variable, name, size) == 0 && variable[size] == '=';
}

const char *weir_environment_find(struct weir_environment environment, const char *name)
{
    const char *end = environment.at + environment.size;
    for (const char *at = environment.at; at < end; at += strlen(at) + 1) {
        if (memchr(at, '\0', (size_t)(end - at)) == NULL)
            return NULL;
        if (weir_variable_is(at, name))
            return at;
    }
    return NULL;
}

static size_t read_environment(int pid, char *to)
{
    char path[32];
    (void)snprintf(path, sizeof(path), "/proc/%d/environ", pid);
    WEIR_AUTO_FD int fd = open(path, O_RDONLY | O_CLOEXEC);
    ssize_t got = fd < 0 ? -1 : read(fd, to, READ_MAX);
    return got > 0 ? (size_t)got : 0;
}

size_t weir_strays_kill(weir_stray_fn *is_stray, const void *owner)
{
    WEIR_AUTO_FREE char *text = weir_calloc(READ_MAX, 1);
    size_t killed = 0;
    DIR *processes = opendir("/proc");
    for (const struct dirent *one; processes != NULL && (one = readdir(processes)) != NULL;) {
        int pid = (int)strtol(one->d_name, NULL, 10);
        if (pid > 1 && pid != getpid() &&
            is_stray(owner, (struct weir_environment){text, read_environment(pid, text)}))
            killed += kill(pid, SIGKILL) == 0;
    }
    if (processes != NULL)
        (void)closedir(processes);
    return killed;
}
