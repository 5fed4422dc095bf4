/* A child in a group of its own, and a pipe: see credential_process.h. */
#include "storage/identity/credential_process.h"

#include "core/base/clock.h"
#include "core/base/memory.h"
#include "storage/identity/exchange.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

enum { PATIENCE_MS = 60000, LOOK_MS = 100 };

extern char **environ;

/* Returns 0 or an errno. Threads have all signals blocked, which a child would inherit. */
static int spawn(const char *command, int out, pid_t *ret_pid)
{
    WEIR_AUTO_FREE char *text = weir_strdup(command);
    char shell[] = "sh", option[] = "-c";
    char *argv[] = {shell, option, text, NULL};
    posix_spawn_file_actions_t files;
    posix_spawnattr_t attributes;
    sigset_t none;
    int failed;

    sigemptyset(&none);
    posix_spawn_file_actions_init(&files);
    posix_spawn_file_actions_addopen(&files, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
    posix_spawn_file_actions_adddup2(&files, out, STDOUT_FILENO);
    posix_spawn_file_actions_addopen(&files, STDERR_FILENO, "/dev/null", O_WRONLY, 0);
    posix_spawnattr_init(&attributes);
    posix_spawnattr_setsigmask(&attributes, &none);
    posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETPGROUP);
    failed = posix_spawn(ret_pid, "/bin/sh", &files, &attributes, argv, environ);
    posix_spawnattr_destroy(&attributes);
    posix_spawn_file_actions_destroy(&files);
    return failed;
}

/* Until its end, the end of patience, or of the work; false: it is to be killed. */
static bool take_output(int fd, int64_t end_ms, struct weir_work *work, struct weir_buf *answer)
{
    struct pollfd watched = {.fd = fd, .events = POLLIN};

    while (weir_work_goes_on(work, 0, 0) && weir_now_ms() < end_ms &&
           answer->size < IDENTITY_ANSWER_BYTES_MAX) {
        char piece[4096];
        ssize_t got;

        if (poll(&watched, 1, LOOK_MS) <= 0)
            continue;
        got = read(fd, piece, sizeof(piece));
        if (got == 0)
            return true;
        if (got > 0)
            weir_buf_append(answer, piece, (size_t)got);
        explicit_bzero(piece, sizeof(piece));
    }
    return false;
}

/* True when it has ended well, and by itself. One that has closed its output may go on. */
static bool has_ended_well(pid_t pid, bool is_whole, int64_t end_ms, struct weir_work *work)
{
    int how = 0;

    while (is_whole && waitpid(pid, &how, WNOHANG) == 0) {
        is_whole = weir_work_goes_on(work, 0, 0) && weir_now_ms() < end_ms;
        poll(NULL, 0, LOOK_MS / 10);
    }
    if (is_whole)
        return WIFEXITED(how) && WEXITSTATUS(how) == 0;
    kill(-pid, SIGKILL);
    while (waitpid(pid, &how, 0) < 0 && errno == EINTR)
        continue;
    return false;
}

enum weir_status storage_identity_run(const char *command, struct weir_work *work,
                                      struct weir_buf *answer, struct weir_error *err)
{
    int64_t end_ms = weir_now_ms() + PATIENCE_MS;
    int ends[2], failed;
    pid_t pid = 0;
    bool is_whole;

    if (pipe2(ends, O_CLOEXEC) != 0)
        return weir_fail(err, WEIR_UNAVAILABLE, "credential_process: %s", strerror(errno));
    failed = spawn(command, ends[1], &pid);
    close(ends[1]);
    is_whole = failed == 0 && take_output(ends[0], end_ms, work, answer);
    close(ends[0]);
    if (failed)
        return weir_fail(err, WEIR_UNAVAILABLE, "credential_process: %s", strerror(failed));
    if (has_ended_well(pid, is_whole, end_ms, work))
        return WEIR_OK;
    return weir_fail(err, WEIR_UNAVAILABLE, "credential_process: it does not end with success");
}
