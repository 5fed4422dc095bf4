/* Starting and stopping the orchestrator for one command. */
#include "cli/serving.h"

#include "cli/program.h"
#include "core/base/fault.h"
#include "core/base/memory.h"
#include "core/base/utf8.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/pidfd.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

enum { STOP_MS = 30000, TAIL_BYTES = 4096, EXIT_NO_PROGRAM = 127 };

/* In the child, between fork and exec: a group of its own, so that Ctrl-C reaches weir alone, which then stops it. */
static void become_orchestrator(char *const argv[], int log_fd, pid_t parent)
{
    sigset_t none;
    int null_fd = open("/dev/null", O_RDWR | O_CLOEXEC);
    (void)setpgid(0, 0);
    (void)prctl(PR_SET_PDEATHSIG, SIGTERM);
    if (getppid() != parent) /* the parent is over already */
        _exit(EXIT_FAILURE);
    (void)sigemptyset(&none);
    (void)sigprocmask(SIG_SETMASK, &none, NULL);
    (void)dup2(null_fd, STDIN_FILENO);
    (void)dup2(null_fd, STDOUT_FILENO);
    (void)dup2(log_fd, STDERR_FILENO);
    (void)execv(argv[0], argv);
    (void)dprintf(STDERR_FILENO, "%s: cannot be run: %s; it belongs beside weir\n", argv[0],
                  strerror(errno));
    _exit(EXIT_NO_PROGRAM);
}

static int open_pidfd(pid_t pid)
{
    if (weir_fault("cli.pidfd")) {
        errno = EMFILE;
        return -1;
    }
    return pidfd_open(pid, 0);
}

static void reap(pid_t pid)
{
    while (waitpid(pid, NULL, 0) < 0 && errno == EINTR) {
    }
}

/* It could not be started, or nobody could wait for it. */
static void give_up(const struct cli_serving *serving)
{
    if (serving->pid > 0) {
        (void)kill(serving->pid, SIGKILL);
        reap(serving->pid);
    }
    if (serving->log_fd >= 0)
        (void)close(serving->log_fd);
}

enum weir_status cli_serving_start(const char *data_dir, bool works,
                                   struct cli_serving *ret_serving, struct weir_error *err)
{
    WEIR_AUTO_FREE char *path = cli_program_path("orchestrator");
    char serve[] = "serve", data_dir_option[] = "--data-dir", hold[] = "--hold";
    WEIR_AUTO_FREE char *data_dir_copy = weir_strdup(data_dir);
    char *const argv[] = {path, serve, data_dir_option, data_dir_copy, works ? NULL : hold, NULL};
    struct cli_serving serving = {.log_fd = memfd_create("orchestrator", MFD_CLOEXEC)};
    pid_t parent = getpid();
    serving.pid = serving.log_fd < 0 ? -1 : fork();
    if (serving.pid == 0)
        become_orchestrator(argv, serving.log_fd, parent);
    serving.pidfd = serving.pid < 0 ? -1 : open_pidfd(serving.pid);
    if (serving.pidfd < 0) {
        enum weir_status status =
            weir_fail(err, WEIR_IO, "cannot start %s: %s", path, strerror(errno));
        give_up(&serving);
        return status;
    }
    *ret_serving = serving;
    return WEIR_OK;
}

static bool ends_within(const struct cli_serving *serving, int wait_ms)
{
    struct pollfd polled = {.fd = serving->pidfd, .events = POLLIN};
    return poll(&polled, 1, wait_ms) > 0;
}

bool cli_serving_ended(const struct cli_serving *serving)
{
    return ends_within(serving, 0);
}

void cli_serving_last_line(const struct cli_serving *serving, char *text, size_t size)
{
    char tail[TAIL_BYTES + 1];
    off_t end = lseek(serving->log_fd, 0, SEEK_END);
    off_t from = end > TAIL_BYTES ? end - TAIL_BYTES : 0;
    ssize_t got = pread(serving->log_fd, tail, TAIL_BYTES, from);
    while (got > 0 && tail[got - 1] == '\n')
        got--;
    tail[got > 0 ? got : 0] = '\0';
    const char *line = strrchr(tail, '\n');
    weir_utf8_print(text, size, "%s", line == NULL ? tail : line + 1);
}

void cli_serving_stop(struct cli_serving *serving)
{
    if (serving->pid <= 0)
        return;
    (void)kill(serving->pid, SIGTERM);
    if (!ends_within(serving, STOP_MS))
        (void)kill(serving->pid, SIGKILL);
    reap(serving->pid);
    (void)close(serving->pidfd);
    (void)close(serving->log_fd);
    *serving = (struct cli_serving){.pid = 0};
}
