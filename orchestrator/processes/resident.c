/* One pass over /proc: who is whose child, and how large. */
#include "orchestrator/processes/resident.h"

#include "core/base/file.h"
#include "core/base/memory.h"

#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { STAT_BYTES_MAX = 1024 };

/* Fields of /proc/PID/stat, counted from 1: proc_pid_stat(5). */
enum { NAME = 2, PARENT = 4, SESSION = 6, RESIDENT = 24 };

struct process {
    pid_t pid, parent, session;
    uint64_t bytes;
    bool is_in;
};

struct processes {
    struct process *at;
    size_t count, capacity;
};

/* The name in brackets may hold anything, brackets too: the other fields are after the last one. */
static bool parse(const char *stat, struct process *process)
{
    long long fields[RESIDENT + 1] = {0};
    const char *at = strrchr(stat, ')');
    int field = NAME;

    for (; at != NULL && field < RESIDENT; field++) {
        at = strchr(at, ' ');
        if (at != NULL)
            fields[field + 1] =
                strtoll(++at, NULL, 10); /* the state is no number, and not asked for */
    }
    process->parent = (pid_t)fields[PARENT];
    process->session = (pid_t)fields[SESSION];
    process->bytes = (uint64_t)fields[RESIDENT] * (uint64_t)sysconf(_SC_PAGESIZE);
    return at != NULL;
}

/* False: it has ended meanwhile. */
static bool read_process(int proc, const char *name, struct process *process)
{
    char path[32], stat[STAT_BYTES_MAX];
    int written = snprintf(path, sizeof(path), "%.16s/stat", name);
    WEIR_AUTO_FD int fd = written > 0 ? openat(proc, path, O_RDONLY | O_CLOEXEC) : -1;
    ssize_t size = fd < 0 ? -1 : read(fd, stat, sizeof(stat) - 1);

    if (size <= 0)
        return false;
    stat[size] = '\0';
    process->pid = (pid_t)strtol(name, NULL, 10);
    return parse(stat, process);
}

static void list_processes(struct processes *processes)
{
    DIR *proc = opendir("/proc");
    const struct dirent *entry = NULL;

    while (proc != NULL && (entry = readdir(proc)) != NULL) {
        struct process process = {.is_in = false};
        if (entry->d_name[0] < '1' || entry->d_name[0] > '9' ||
            !read_process(dirfd(proc), entry->d_name, &process))
            continue;
        processes->at = weir_grow(processes->at, processes->count, &processes->capacity,
                                  sizeof(*processes->at));
        processes->at[processes->count++] = process;
    }
    if (proc != NULL)
        (void)closedir(proc);
}

static bool is_child_of_one_in(const struct processes *processes, pid_t parent)
{
    for (size_t i = 0; i < processes->count; i++)
        if (processes->at[i].pid == parent)
            return processes->at[i].is_in;
    return false;
}

/* Until nobody joins: a child may stand before its parent. */
static uint64_t sum_of(struct processes *processes, pid_t leader)
{
    uint64_t bytes = 0;

    for (bool joined = true; joined;) {
        joined = false;
        for (size_t i = 0; i < processes->count; i++) {
            struct process *process = &processes->at[i];
            if (process->is_in || (process->pid != leader && process->session != leader &&
                                   !is_child_of_one_in(processes, process->parent)))
                continue;
            process->is_in = joined = true;
            bytes += process->bytes;
        }
    }
    return bytes;
}

uint64_t orchestrator_resident_bytes(pid_t leader)
{
    struct processes processes = {.at = NULL};

    list_processes(&processes);
    uint64_t bytes = sum_of(&processes, leader);
    free(processes.at);
    return bytes;
}
