/* Asking the sibling programs, each through two pipes. */
#include "orchestrator/siblings.h"

#include "core/base/file.h"
#include "core/base/memory.h"
#include "orchestrator/processes/environment.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

static const char *const PROGRAMS[] = {"storage", "selector", "dispatcher", "trainer"};

enum { SAID_MAX = 16 << 20, STREAMS = 2, ARGUMENTS_MAX = 4 };

struct sibling {
    pid_t pid;         /* 0: not running */
    int from[STREAMS]; /* its output, and its complaints; -1: closed */
    struct weir_buf said[STREAMS];
};

struct query {
    const char *bin_dir;
    const char *const *programs;
    size_t count;                         /* of them */
    const char *arguments[ARGUMENTS_MAX]; /* up to the first NULL */
    int in;                               /* their standard input; -1: that of this process */
    const struct orchestrator_identity *identity; /* NULL: they run as this process */
    bool asks_buckets;                            /* so it is given credentials of object stores */
};

static void close_end(int *fd)
{
    if (*fd >= 0) {
        (void)close(*fd);
        *fd = -1;
    }
}

/* In the child: async-signal-safe. It ends with its parent, however long it looks at data. */
static _Noreturn void become(const struct query *query, pid_t parent, const int ends[3],
                             char *const argv[], char *const env[])
{
    sigset_t none;
    (void)sigemptyset(&none);
    (void)sigprocmask(SIG_SETMASK, &none, NULL);
    for (int i = 0; i < 3; i++)
        if (ends[i] >= 0)
            (void)dup2(ends[i], i);
    if (query->identity != NULL && orchestrator_identity_become(query->identity) != 0)
        _exit(EXIT_FAILURE);
    (void)prctl(PR_SET_PDEATHSIG, SIGKILL); /* another identity forgets it */
    if (getppid() == parent)
        (void)execve(argv[0], argv, env);
    _exit(EXIT_FAILURE);
}

/* Returns 0 or an errno. */
static int spawn(const struct query *query, const int ends[3], char *const argv[], pid_t *ret_pid)
{
    if (access(argv[0], X_OK) != 0)
        return errno;
    char **env = query->asks_buckets ? orchestrator_environment_whole()
                                     : orchestrator_environment_apart(NULL);
    if (query->identity != NULL)
        env = orchestrator_environment_add(env, "HOME", query->identity->home);
    pid_t parent = getpid();
    pid_t pid = fork();
    if (pid == 0)
        become(query, parent, ends, argv, env);
    int problem = pid < 0 ? errno : 0;
    orchestrator_environment_free(env);
    *ret_pid = problem == 0 ? pid : 0;
    return problem;
}

static enum weir_status start(struct sibling *sibling, const struct query *query,
                              char *const argv[], struct weir_error *err)
{
    int out[2] = {-1, -1}, complaints[2] = {-1, -1};
    if (pipe2(out, O_CLOEXEC) != 0 || pipe2(complaints, O_CLOEXEC) != 0) {
        close_end(&out[0]);
        close_end(&out[1]);
        return weir_fail(err, WEIR_IO, "pipe: %s", strerror(errno));
    }
    int problem = spawn(query, (int[]){query->in, out[1], complaints[1]}, argv, &sibling->pid);
    close_end(&out[1]);
    close_end(&complaints[1]);
    sibling->from[0] = out[0];
    sibling->from[1] = complaints[0];
    if (problem != 0)
        return weir_fail(err, problem == ENOENT ? WEIR_NOT_FOUND : WEIR_IO,
                         "%s: cannot be run: %s; it belongs beside the orchestrator", argv[0],
                         strerror(problem));
    return WEIR_OK;
}

static enum weir_status start_in(struct sibling *sibling, const struct query *query,
                                 const char *program, struct weir_error *err)
{
    char *path = weir_format("%s/%s", query->bin_dir, program);
    char *argv[ARGUMENTS_MAX + 2] = {path};
    for (size_t i = 0; i < ARGUMENTS_MAX && query->arguments[i] != NULL; i++)
        argv[i + 1] = weir_strdup(query->arguments[i]);
    enum weir_status status = start(sibling, query, argv, err);
    for (size_t i = 0; argv[i] != NULL; i++)
        free(argv[i]);
    return status;
}

/* Reads both streams to their ends. */
static void listen_to(struct sibling *sibling)
{
    while (sibling->from[0] >= 0 || sibling->from[1] >= 0) {
        struct pollfd polled[STREAMS];
        for (int i = 0; i < STREAMS; i++)
            polled[i] = (struct pollfd){.fd = sibling->from[i], .events = POLLIN};
        if (poll(polled, STREAMS, -1) < 0 && errno != EINTR)
            return;
        for (int i = 0; i < STREAMS; i++) {
            char bytes[4096];
            if (polled[i].revents == 0)
                continue;
            ssize_t size = read(sibling->from[i], bytes, sizeof(bytes));
            if (size <= 0)
                close_end(&sibling->from[i]);
            else if (sibling->said[i].size < SAID_MAX)
                weir_buf_append(&sibling->said[i], bytes, (size_t)size);
        }
    }
}

static enum weir_status hear_out(struct sibling *sibling, const char *program, struct weir_buf *out,
                                 struct weir_buf *complaints, struct weir_error *err)
{
    int ended = 0;
    listen_to(sibling);
    while (waitpid(sibling->pid, &ended, 0) < 0 && errno == EINTR) {
    }
    sibling->pid = 0;
    weir_buf_append(out, sibling->said[0].at, sibling->said[0].size);
    weir_buf_append(complaints, sibling->said[1].at, sibling->said[1].size);
    if (WIFEXITED(ended) && WEXITSTATUS(ended) == 0)
        return WEIR_OK;
    if (WIFEXITED(ended) && WEXITSTATUS(ended) == 2)
        return weir_fail(err, WEIR_INVALID, "%s refuses the file", program);
    return weir_fail(err, WEIR_IO, "%s --check-config failed", program);
}

static void release(struct sibling *siblings, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        for (int j = 0; j < STREAMS; j++) {
            close_end(&siblings[i].from[j]);
            weir_buf_fini(&siblings[i].said[j]);
        }
        if (siblings[i].pid > 0) {
            (void)kill(siblings[i].pid, SIGKILL);
            (void)waitpid(siblings[i].pid, NULL, 0);
        }
    }
}

/* Runs all programs at once, with the same arguments. */
static enum weir_status run(const struct query *query, struct weir_buf *out,
                            struct weir_buf *complaints, struct weir_error *err)
{
    struct sibling siblings[WEIR_COUNT(PROGRAMS)];
    enum weir_status status = WEIR_OK;
    for (size_t i = 0; i < query->count; i++)
        siblings[i] = (struct sibling){.from = {-1, -1}};
    for (size_t i = 0; i < query->count && status == WEIR_OK; i++)
        status = start_in(&siblings[i], query, query->programs[i], err);
    bool all_started = status == WEIR_OK;
    for (size_t i = 0; i < query->count && all_started; i++) {
        struct weir_error problem;
        enum weir_status one =
            hear_out(&siblings[i], query->programs[i], out, complaints, &problem);
        if (one != WEIR_OK && (status == WEIR_OK || one != WEIR_INVALID)) {
            status = one;
            *err = problem;
        }
    }
    release(siblings, query->count);
    return status;
}

enum weir_status orchestrator_siblings_query(const char *bin_dir, const char *option,
                                             const char *file, struct weir_buf *out,
                                             struct weir_buf *complaints, struct weir_error *err)
{
    const struct query query = {bin_dir, PROGRAMS, WEIR_COUNT(PROGRAMS), {option, file}, -1,
                                NULL,    false};
    return run(&query, out, complaints, err);
}

enum weir_status orchestrator_siblings_check(const char *bin_dir, const char *file,
                                             struct weir_buf *out, struct weir_buf *complaints,
                                             struct weir_error *err)
{
    static const char *const ASKED[] = {"selector", "dispatcher"};
    const struct query query = {bin_dir, ASKED, WEIR_COUNT(ASKED), {"--check-config", file}, -1,
                                NULL,    false};
    return run(&query, out, complaints, err);
}

enum weir_status orchestrator_siblings_look(const struct sibling_look *look, struct weir_buf *out,
                                            struct weir_buf *complaints, struct weir_error *err)
{
    WEIR_AUTO_FD int in = memfd_create("found", MFD_CLOEXEC);
    const struct query query = {.bin_dir = look->bin_dir,
                                .programs = &look->program,
                                .count = 1,
                                .arguments = {"--check-config", look->file, "--found"},
                                .in = in,
                                .identity = look->identity,
                                .asks_buckets = strcmp(look->program, "storage") == 0};
    if (in < 0 || !weir_write_all(in, look->found) || lseek(in, 0, SEEK_SET) != 0)
        return weir_fail(err, WEIR_IO, "memory for %s: %s", look->program, strerror(errno));
    return run(&query, out, complaints, err);
}
