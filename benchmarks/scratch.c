/* The parent of a benchmark: waits for all its processes, then removes what they wrote. */
#include "benchmarks/scratch.h"

#include "core/base/file.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

static int make_directory(char *path, size_t size)
{
    const char *root = getenv("TMPDIR");
    snprintf(path, size, "%s/weir-bench-XXXXXX", root != NULL && *root ? root : "/tmp");
    if (mkdtemp(path) == NULL || chmod(path, 01777) != 0) {
        fprintf(stderr, "bench: %s: %s: set TMPDIR to a directory that can be written to\n", path,
                strerror(errno));
        return -1;
    }
    return 0;
}

static int exit_code_of(int status)
{
    if (WIFEXITED(status))
        return WEXITSTATUS(status);
    fprintf(stderr, "bench: killed by signal %d\n", WTERMSIG(status));
    return 1;
}

/* Orphans of the child come to this process, so that nothing writes into a directory being removed;
 * they end by themselves, because each was told to die with its parent. */
static int wait_for_all(pid_t child, const sigset_t *signals)
{
    int code = -1;
    for (;;) {
        int status;
        pid_t ended = waitpid(-1, &status, code < 0 ? WNOHANG : 0);
        if (ended < 0 && errno == ECHILD)
            return code;
        if (ended == child)
            code = exit_code_of(status);
        if (ended != 0)
            continue;
        int signal = sigwaitinfo(signals, NULL);
        if (signal == SIGINT || signal == SIGTERM)
            kill(child, SIGTERM);
    }
}

int scratch_run(int (*body)(const char *directory, void *owner), void *owner)
{
    char path[SCRATCH_PATH_MAX];
    if (make_directory(path, sizeof(path)) != 0)
        return 1;
    sigset_t signals, before;
    sigemptyset(&signals);
    sigaddset(&signals, SIGINT);
    sigaddset(&signals, SIGTERM);
    sigaddset(&signals, SIGCHLD);
    sigprocmask(SIG_BLOCK, &signals, &before);
    prctl(PR_SET_CHILD_SUBREAPER, 1);
    fflush(NULL);
    pid_t child = fork();
    if (child == 0) {
        sigprocmask(SIG_SETMASK, &before, NULL);
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        exit(body(path, owner));
    }
    int code = 1;
    if (child > 0)
        code = wait_for_all(child, &signals);
    else
        perror("bench: fork");
    struct weir_error err;
    if (weir_remove_tree(path, &err) != WEIR_OK)
        fprintf(stderr, "bench: left behind: %s: %s\n", path, err.text);
    return code;
}
