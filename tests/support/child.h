/* Processes of a test: a function that is run in one of its own, for what ends a process and for what
 * it prints; and programs, which end with the test, however that ends. */
#ifndef WEIR_TESTS_SUPPORT_CHILD_H
#define WEIR_TESTS_SUPPORT_CHILD_H

#include "core/base/error.h"

#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

struct child {
    int status;        /* as waitpid() gives it */
    char errors[8192]; /* what it wrote to stderr, cut to fit */
};

static inline void child_collect(struct child *child, int from)
{
    size_t size = 0;
    ssize_t got;
    while ((got = read(from, child->errors + size, sizeof(child->errors) - 1 - size)) > 0)
        size += (size_t)got;
    child->errors[size] = '\0';
}

/* `body` returns the exit code. The child leaves with exit(), so that its lines are counted too. */
static inline void child_run(struct child *child, int (*body)(const void *), const void *argument)
{
    int ends[2];
    weir_require(pipe(ends) == 0);
    fflush(NULL);
    pid_t pid = fork();
    weir_require(pid >= 0);
    if (pid == 0) {
        dup2(ends[1], STDERR_FILENO);
        close(ends[0]);
        close(ends[1]);
        exit(body(argument));
    }
    close(ends[1]);
    child_collect(child, ends[0]);
    close(ends[0]);
    weir_require(waitpid(pid, &child->status, 0) == pid);
}

/* Starts the program argv[0]; `prepare` (NULL: nothing) is called with `argument` in its process. */
static inline pid_t child_start(const char *const argv[], void (*prepare)(const void *),
                                const void *argument)
{
    pid_t test = getpid();
    fflush(NULL);
    pid_t pid = fork();
    weir_require(pid >= 0);
    if (pid > 0)
        return pid;
    /* Blocked until the program listens to it: what is stopped while it starts stops in order. */
    sigset_t stop;
    sigemptyset(&stop);
    sigaddset(&stop, SIGTERM);
    sigprocmask(SIG_BLOCK, &stop, NULL);
    weir_require(prctl(PR_SET_PDEATHSIG, SIGKILL) == 0 && getppid() == test);
    if (prepare)
        prepare(argument);
    execv(argv[0], (char *const *)(uintptr_t)argv);
    _exit(127);
}

/* Ends it by `signal` and returns its status, as waitpid() gives it. */
static inline int child_end(pid_t pid, int signal)
{
    int status;
    kill(pid, signal);
    weir_require(waitpid(pid, &status, 0) == pid);
    return status;
}

static inline bool child_died_of(const struct child *child, int signal)
{
    return WIFSIGNALED(child->status) && WTERMSIG(child->status) == signal;
}

static inline bool child_left_with(const struct child *child, int code)
{
    return WIFEXITED(child->status) && WEXITSTATUS(child->status) == code;
}

#endif
