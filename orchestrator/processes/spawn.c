/* Starts programs. Between fork and exec only async-signal-safe calls are made: ZeroMQ's threads
 * may hold any lock at that moment. */
#include "orchestrator/processes/spawn.h"

#include "core/base/bytes.h"
#include "core/base/file.h"
#include "core/base/jail.h"
#include "core/base/utf8.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/wait.h>
#include <unistd.h>

enum {
    LOG_TAIL_BYTES = 4096,
    EXIT_NOT_STARTED = 126,
};

static void reset_signals(void)
{
    for (int number = 1; number < SIGRTMIN; number++)
        (void)signal(number, SIG_DFL); /* fails for SIGKILL and SIGSTOP, which need none */
    sigset_t none;
    (void)sigemptyset(&none);
    (void)sigprocmask(SIG_SETMASK, &none, NULL);
}

/* A core that was taken away meanwhile is no reason not to start. */
static void pin(unsigned core)
{
    cpu_set_t only;
    CPU_ZERO(&only);
    CPU_SET(core - 1, &only);
    (void)sched_setaffinity(0, sizeof(only), &only);
}

/* Things that a child is given besides its command. */
struct given {
    int input_fd, log_fd;
    int rules; /* of its jail; -1: none */
};

static int prepare_child(const struct orchestrator_spawn *spawn, const struct given *given,
                         pid_t parent)
{
    if (dup2(given->input_fd, 0) < 0 || dup2(given->log_fd, 1) < 0 || dup2(given->log_fd, 2) < 0)
        return errno;
    if (setsid() < 0)
        return errno;
    int failed = spawn->identity != NULL ? orchestrator_identity_become(spawn->identity) : 0;
    if (failed)
        return failed;
    /* After the change of identity, which clears it. The parent may have died before. */
    if (prctl(PR_SET_PDEATHSIG, spawn->death_signal ? spawn->death_signal : SIGKILL) != 0)
        return errno;
    if (getppid() != parent)
        return ECANCELED;
    if (spawn->directory != NULL && chdir(spawn->directory) != 0)
        return errno;
    reset_signals();
    if (spawn->core > 0)
        pin(spawn->core);
    return spawn->jail != NULL ? weir_jail_enter(spawn->jail, given->rules) : 0;
}

WEIR_NORETURN static void run_child(const struct orchestrator_spawn *spawn,
                                    const struct given *given, int report_fd, pid_t parent)
{
    int failed = prepare_child(spawn, given, parent);
    if (!failed) {
        (void)execve(spawn->argv[0], spawn->argv, spawn->env != NULL ? spawn->env : environ);
        failed = errno;
    }
    (void)!write(report_fd, &failed, sizeof(failed)); /* nobody left to tell */
    _exit(EXIT_NOT_STARTED);
}

static int open_log(const char *path)
{
    return open(path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC | O_NOFOLLOW, 0640);
}

/* Copies from where `in` stands to its end, or until there are `bytes_max`: a program may write faster than this. */
static bool copy_rest(int in, int out, int64_t bytes_max)
{
    char piece[1 << 16];
    ssize_t got = 0;
    for (; bytes_max > 0 && (got = read(in, piece, sizeof(piece))) > 0; bytes_max -= got)
        if (!weir_write_all(out, weir_bytes(piece, (size_t)got)))
            return false;
    return got >= 0;
}

/* Moves an open log from `begin` on, at most `bytes_max` bytes, to a new file, and begins it at 0. False: it was not
 * all moved. */
static bool rotate(int fd, off_t begin, int64_t bytes_max, const char *to)
{
    WEIR_AUTO_FD int out = open(to, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0640);
    bool is_moved = out >= 0 && lseek(fd, begin, SEEK_SET) >= 0 && copy_rest(fd, out, bytes_max);
    (void)!ftruncate(fd, 0); /* its writers append: they go on at the beginning */
    return is_moved;
}

void orchestrator_log_bound(const char *path, int64_t bytes_max)
{
    WEIR_AUTO_FD int fd = open(path, O_RDWR | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
    struct stat found;
    if (fd < 0 || fstat(fd, &found) != 0 || !S_ISREG(found.st_mode) || found.st_size <= bytes_max)
        return;
    char rotated[4096];
    (void)snprintf(rotated, sizeof(rotated), "%s.1", path);
    (void)unlink(rotated); /* its room may be what is needed */
    if (!rotate(fd, found.st_size - bytes_max, bytes_max, rotated))
        (void)unlink(rotated); /* on a full disk the newest lines go, too: room comes first */
}

void orchestrator_log_hand_over(const char *from, const char *to)
{
    if (rename(from, to) != 0)
        return; /* somebody has removed it: the program writes to nobody */
    WEIR_AUTO_FD int fd = open(to, O_RDWR | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
    if (fd >= 0)
        (void)rotate(fd, 0, INT64_MAX, from);
}

/* A pipe that holds all of the input already: it is gone once it has been read, and no file system ever saw it. */
static enum weir_status open_input(const struct orchestrator_spawn *spawn, int *ret_fd,
                                   struct weir_error *err)
{
    size_t size = spawn->input != NULL ? strlen(spawn->input) : 0;
    int fds[2];
    if (size > PIPE_BUF)
        return weir_fail(err, WEIR_LIMIT, "input of %s: found %zu bytes, expected at most %d",
                         spawn->argv[0], size, PIPE_BUF);
    if (pipe2(fds, O_CLOEXEC) != 0)
        return weir_fail(err, WEIR_IO, "cannot make a pipe: %s", strerror(errno));
    bool is_written = size == 0 || write(fds[1], spawn->input, size) == (ssize_t)size;
    (void)close(fds[1]);
    if (!is_written) {
        (void)close(fds[0]);
        return weir_fail(err, WEIR_IO, "cannot write the input of %s", spawn->argv[0]);
    }
    *ret_fd = fds[0];
    return WEIR_OK;
}

static enum weir_status report(const struct orchestrator_spawn *spawn, int failed,
                               struct weir_error *err)
{
    return weir_fail(err, failed == ENOENT ? WEIR_NOT_FOUND : WEIR_IO, "cannot start %s%s%s: %s",
                     spawn->argv[0], spawn->identity != NULL ? " as user " : "",
                     spawn->identity != NULL ? spawn->identity->name : "", strerror(failed));
}

enum weir_status orchestrator_spawn(const struct orchestrator_spawn *spawn, pid_t *ret_pid,
                                    struct weir_error *err)
{
    WEIR_AUTO_FD int log_fd = open_log(spawn->log_path);
    if (log_fd < 0)
        return weir_fail(err, WEIR_IO, "cannot write log %s: %s", spawn->log_path, strerror(errno));
    WEIR_AUTO_FD int input_fd = -1, rules = -1;
    enum weir_status status = open_input(spawn, &input_fd, err);
    if (status == WEIR_OK && spawn->jail != NULL)
        status = weir_jail_prepare(spawn->jail, &rules, err);
    if (status != WEIR_OK)
        return status;
    const struct given given = {.input_fd = input_fd, .log_fd = log_fd, .rules = rules};
    int report_fds[2];
    if (pipe2(report_fds, O_CLOEXEC) != 0)
        return weir_fail(err, WEIR_IO, "cannot make a pipe: %s", strerror(errno));
    WEIR_AUTO_FD int report_read = report_fds[0];
    pid_t parent = getpid();
    pid_t pid = fork();
    if (pid == 0)
        run_child(spawn, &given, report_fds[1], parent);
    int failed = errno;
    (void)close(report_fds[1]);
    if (pid < 0)
        return report(spawn, failed, err);
    ssize_t got;
    while ((got = read(report_read, &failed, sizeof(failed))) < 0 && errno == EINTR)
        continue;
    if (got == (ssize_t)sizeof(failed)) {
        while (waitpid(pid, NULL, 0) < 0 && errno == EINTR)
            continue;
        return report(spawn, failed, err);
    }
    *ret_pid = pid; /* the pipe closed without a word: exec succeeded */
    return WEIR_OK;
}

/* Copies the last non-empty line of `tail` that holds `word` (NULL: any). */
static bool last_line_with(const char *tail, const char *word, char *text, size_t size)
{
    const char *end = tail + strlen(tail);
    while (end > tail) {
        const char *start = end;
        while (start > tail && start[-1] != '\n')
            start--;
        weir_utf8_print(text, size, "%.*s", (int)(end - start), start);
        if (text[0] && (word == NULL || strstr(text, word) != NULL))
            return true;
        end = start > tail ? start - 1 : tail;
    }
    text[0] = '\0';
    return false;
}

/* On a full disk a program has no words. */
static bool is_full(int fd)
{
    struct statvfs about;
    return fstatvfs(fd, &about) == 0 && about.f_bavail == 0;
}

void orchestrator_log_last_line(const char *log_path, char *text, size_t size)
{
    text[0] = '\0';
    WEIR_AUTO_FD int fd = open(log_path, O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        return;
    off_t length = lseek(fd, 0, SEEK_END);
    char tail[LOG_TAIL_BYTES + 1];
    off_t from = length > LOG_TAIL_BYTES ? length - LOG_TAIL_BYTES : 0;
    ssize_t got = pread(fd, tail, LOG_TAIL_BYTES, from);
    tail[got > 0 ? got : 0] = '\0';
    if (!last_line_with(tail, "FATAL", text, size) &&
        !last_line_with(tail, " error ", text, size) && !last_line_with(tail, NULL, text, size) &&
        is_full(fd))
        (void)snprintf(text, size, "%s: nothing can be written: %s", log_path, strerror(ENOSPC));
}

struct weir_bytes orchestrator_log_complaint(const char *line)
{
    static const char BEFORE[] = " error=\"";
    const char *error = strstr(line, BEFORE);
    struct weir_bytes complaint = weir_bytes_of(error != NULL ? error + strlen(BEFORE) : line);
    complaint.size -= error != NULL && complaint.size > 0 && line[strlen(line) - 1] == '"';
    return complaint;
}

void orchestrator_wait_status_text(int wait_status, char *text, size_t size)
{
    if (WIFSIGNALED(wait_status))
        (void)snprintf(text, size, "killed by signal %d (%s)", WTERMSIG(wait_status),
                       strsignal(WTERMSIG(wait_status)));
    else
        (void)snprintf(text, size, "exit code %d", WEXITSTATUS(wait_status));
}
