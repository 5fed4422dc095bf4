/* A program of the user as a process of its own. */
#include "preprocess/operators/exec/program.h"

#include "core/base/clock.h"
#include "core/base/jail.h"
#include "core/base/memory.h"
#include "core/base/utf8.h"
#include "preprocess/operators/exec/frame.h"
#include "preprocess/operators/exec/strays.h"

#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/pidfd.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum {
    FILES_MAX = 64,
    PIECE_BYTES = 1 << 20,
    WORDS_BYTES = 4096,
    EXIT_NOT_STARTED = 126,
    NOBODY = 65534
};

/* Pipes of a program: it reads the first one, and writes the others. */
enum { TO, FROM, WORDS, PIPES };

/* ---- life ---- */

static void say(struct program *program, const char *what)
{
    weir_utf8_print(program->reason, sizeof(program->reason), "%s", what);
}

/* Passes the words of the program on to the worker's log, up to a limit, and then says that there is more. */
static void keep_words(struct program *program, const char *words, size_t size)
{
    static const char MORE[] = "\na program says more, which is not kept\n";
    size_t room = PROGRAM_WORDS_BYTES_MAX - program->said, kept = size < room ? size : room;
    (void)!write(STDERR_FILENO, words, kept); /* the log may be full */
    if (kept > 0 && kept == room)
        (void)!write(STDERR_FILENO, MORE, sizeof(MORE) - 1);
    program->said += kept;
}

/* Keeps the newest line, for the reason. */
static void keep_line(struct program *program, const char *words, size_t size)
{
    size_t length = strlen(program->last_line);
    for (size_t i = 0; i < size; i++) {
        bool is_blank = (unsigned char)words[i] <= ' ';
        bool is_end = words[i] == '\n' || words[i] == '\r';
        if (program->is_line_over && !is_blank) {
            length = 0;
            program->is_line_over = false;
        }
        program->is_line_over = program->is_line_over || is_end;
        if (!program->is_line_over && length + 1 < sizeof(program->last_line))
            program->last_line[length++] = words[i] >= ' ' && words[i] <= '~' ? words[i] : '?';
        program->last_line[length] = '\0';
    }
}

static void listen_on(struct program *program)
{
    char words[WORDS_BYTES];
    ssize_t got = program->words < 0 ? -1 : read(program->words, words, sizeof(words));
    if (got > 0) {
        keep_words(program, words, (size_t)got);
        keep_line(program, words, (size_t)got);
    }
    if (got == 0) {
        (void)close(program->words);
        program->words = -1;
    }
}

static int64_t ns_of(const struct rusage *used)
{
    return 1000 * (1000000 * (int64_t)(used->ru_utime.tv_sec + used->ru_stime.tv_sec) +
                   used->ru_utime.tv_usec + used->ru_stime.tv_usec);
}

int64_t preprocess_program_cpu_ns(const struct program *program)
{
    clockid_t clock;
    struct timespec used = {0};
    if (program->pid > 0 && clock_getcpuclockid(program->pid, &clock) == 0)
        (void)clock_gettime(clock, &used);
    return program->ended_ns + INT64_C(1000000000) * used.tv_sec + used.tv_nsec;
}

static void stop(struct program *program)
{
    struct rusage used = {0};
    if (program->pid > 0) {
        (void)kill(-program->pid, SIGKILL);
        while (wait4(program->pid, NULL, 0, &used) < 0 && errno == EINTR)
            continue;
        program->ended_ns += ns_of(&used);
        preprocess_strays_end(program->mark);
        for (int i = 0; program->words >= 0 && i < PROGRAM_WORDS_BYTES_MAX / WORDS_BYTES; i++)
            listen_on(program); /* its last words */
        if (program->words >= 0)
            (void)close(program->words);
        if (program->life >= 0)
            (void)close(program->life);
        (void)close(program->to);
        (void)close(program->from);
    }
    program->pid = 0;
    program->key = 0;
}

void preprocess_program_fini(struct program *program)
{
    stop(program);
    weir_buf_fini(&program->request);
    weir_buf_fini(&program->answer);
}

static void limit(__rlimit_resource_t resource, rlim_t most)
{
    const struct rlimit limits = {most, most};
    (void)setrlimit(resource, &limits); /* what is lower already stays so */
}

/* Between fork and exec: nothing here may take a lock. */
static void become(const struct program *program, char *const *argv, char *const *env,
                   int pipes[PIPES][2], pid_t parent)
{
    sigset_t none;
    (void)setpgid(0, 0);
    bool is_root = geteuid() == 0; /* of a worker that somebody started by hand */
    if (is_root && (setgroups(0, NULL) != 0 || setgid(NOBODY) != 0 || setuid(NOBODY) != 0))
        _exit(EXIT_NOT_STARTED);
    (void)prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (getppid() != parent || dup2(pipes[TO][0], 0) < 0 || dup2(pipes[FROM][1], 1) < 0 ||
        dup2(pipes[WORDS][1], 2) < 0)
        _exit(EXIT_NOT_STARTED);
    for (int number = 1; number < SIGRTMIN; number++)
        (void)signal(number, SIG_DFL);
    (void)sigemptyset(&none);
    (void)sigprocmask(SIG_SETMASK, &none, NULL);
    if (weir_jail_enter(&(const struct weir_jail){.sockets = WEIR_JAIL_NO_SOCKETS},
                        program->rules) != 0)
        _exit(EXIT_NOT_STARTED);
    (void)close_range(3, ~0u, 0);
    limit(RLIMIT_AS, program->allowed->memory);
    limit(RLIMIT_CORE, 0);
    limit(RLIMIT_NOFILE, FILES_MAX);
    if (chdir("/") == 0)
        (void)execve(argv[0], argv, env);
    _exit(EXIT_NOT_STARTED);
}

static char **words_of(const struct cfg_texts *command)
{
    char **argv = weir_calloc(command->count + 1, sizeof(*argv));
    for (size_t i = 0; i < command->count; i++)
        argv[i] = weir_strdup(weir_yaml_text(weir_yaml_at(command->node, i)));
    return argv;
}

static void free_words(char **argv)
{
    for (size_t i = 0; argv[i] != NULL; i++)
        free(argv[i]);
    free(argv);
}

static bool open_pipes(int pipes[PIPES][2])
{
    for (int i = 0; i < PIPES; i++) {
        if (pipe2(pipes[i], O_CLOEXEC) == 0)
            continue;
        while (i-- > 0) {
            (void)close(pipes[i][0]);
            (void)close(pipes[i][1]);
        }
        return false;
    }
    return true;
}

static void close_rules(const struct program *program)
{
    if (program->rules >= 0)
        (void)close(program->rules);
}

/* The parent's part of a program that was started. */
static void take_over(struct program *program, pid_t pid, int pipes[PIPES][2])
{
    (void)setpgid(pid, pid); /* whoever comes first */
    program->pid = pid;
    program->last_line[0] = '\0';
    program->is_line_over = true;
    program->to = pipes[TO][1];
    program->from = pipes[FROM][0];
    program->words = pipes[WORDS][0];
    program->life = pidfd_open(pid, 0);
    (void)fcntl(program->to, F_SETFL, O_NONBLOCK);
    (void)fcntl(program->from, F_SETFL, O_NONBLOCK);
    (void)fcntl(program->words, F_SETFL, O_NONBLOCK);
}

/* False with the reason. */
static bool spawn(struct program *program)
{
    static char path[] = "PATH=/usr/local/bin:/usr/bin:/bin", language[] = "LANG=C.UTF-8";
    char *const env[] = {program->mark, path, language, NULL};
    say(program, "it cannot be started");
    if (program->allowed->command.count == 0)
        return false;
    struct weir_error err;
    if (weir_programs_jail(&program->rules, &err) != WEIR_OK) { /* nothing is run without */
        say(program, "it was not started: its jail cannot be made");
        return false;
    }
    int pipes[PIPES][2];
    if (!open_pipes(pipes)) {
        close_rules(program);
        return false;
    }
    preprocess_strays_mark(program->mark);
    char **argv = words_of(&program->allowed->command);
    pid_t parent = getpid(), pid = fork();
    if (pid == 0)
        become(program, argv, env, pipes, parent);
    free_words(argv);
    close_rules(program);
    (void)close(pipes[TO][0]);
    (void)close(pipes[FROM][1]);
    (void)close(pipes[WORDS][1]);
    if (pid < 0) {
        (void)close(pipes[TO][1]);
        (void)close(pipes[FROM][0]);
        (void)close(pipes[WORDS][0]);
        return false;
    }
    take_over(program, pid, pipes);
    return true;
}

/* ---- a request ---- */

/* Sets the reason from the way it ended, while it has not been waited for. */
static void say_how_it_ended(struct program *program)
{
    siginfo_t how = {0};
    bool is_over = waitid(P_PID, (id_t)program->pid, &how, WEXITED | WNOWAIT) == 0;
    if (is_over && how.si_code == CLD_EXITED)
        snprintf(program->reason, sizeof(program->reason), "it ended with exit code %d",
                 how.si_status);
    else
        snprintf(program->reason, sizeof(program->reason), "it was ended by signal %d (%s)",
                 how.si_status, strsignal(how.si_status));
}

void preprocess_program_give_up(struct program *program)
{
    stop(program);
    size_t size = strlen(program->reason);
    if (program->last_line[0] != '\0')
        weir_utf8_print(program->reason + size, sizeof(program->reason) - size, ": %s",
                        program->last_line);
}

static enum program_state died(struct program *program)
{
    preprocess_program_give_up(program);
    return PROGRAM_DIED;
}

static bool is_over(const struct program *program)
{
    siginfo_t how = {0};
    return waitid(P_PID, (id_t)program->pid, &how, WEXITED | WNOWAIT | WNOHANG) == 0 &&
           how.si_pid > 0;
}

/* It has closed a pipe: kill it, if it has not ended; nobody is waited for who may never end. */
static enum program_state ended(struct program *program)
{
    if (!is_over(program))
        (void)kill(-program->pid, SIGTERM); /* closing may come shortly before the end */
    struct pollfd nothing = {.fd = -1};
    for (int i = 0; !is_over(program) && i < 20; i++)
        (void)poll(&nothing, 1, 5);
    say(program, "it closed its output");
    if (is_over(program))
        say_how_it_ended(program);
    return died(program);
}

static bool write_on(struct program *program)
{
    while (program->written < program->request.size) {
        ssize_t put = write(program->to, program->request.at + program->written,
                            program->request.size - program->written);
        if (put < 0)
            return errno == EAGAIN || errno == EINTR;
        program->written += (size_t)put;
    }
    return true;
}

/* False when it has ended. */
static bool read_on(struct program *program)
{
    for (;;) {
        weir_buf_reserve(&program->answer, PIECE_BYTES);
        ssize_t got = read(program->from, program->answer.at + program->answer.size, PIECE_BYTES);
        if (got < 0)
            return errno == EAGAIN || errno == EINTR;
        if (got == 0)
            return false;
        program->answer.size += (size_t)got;
        if (program->answer.size > PROGRAM_ANSWER_BYTES_MAX)
            return true;
    }
}

enum program_state preprocess_program_wait(struct program *program)
{
    int64_t until_ms = weir_now_ms() + PROGRAM_PATIENCE_MS;
    for (;;) {
        bool is_requesting = program->written < program->request.size;
        struct pollfd ends[] = {{.fd = program->from, .events = POLLIN},
                                {.fd = is_requesting ? program->to : -1, .events = POLLOUT},
                                {.fd = program->words, .events = POLLIN},
                                {.fd = program->life, .events = POLLIN}};
        int64_t now_ms = weir_now_ms();
        if (now_ms >= program->deadline_ms) {
            say(program, "it took longer than it may");
            program->hung = true;
            return died(program);
        }
        if (now_ms >= until_ms)
            return PROGRAM_WAITS;
        (void)poll(ends, WEIR_COUNT(ends), (int)(until_ms - now_ms));
        listen_on(program);
        if ((is_requesting && !write_on(program)) || !read_on(program))
            return ended(program);
        int64_t whole = preprocess_frame_size(weir_buf_view(&program->answer));
        if (whole < 0 || program->answer.size > PROGRAM_ANSWER_BYTES_MAX) {
            say(program, "it did not answer in frames");
            return died(program);
        }
        if (whole > 0 && program->answer.size >= (size_t)whole && !is_requesting) {
            program->key = 0;
            return PROGRAM_ANSWERED;
        }
        if (ends[3].revents != 0)
            return ended(program);
    }
}

enum program_state preprocess_program_request(struct program *program, uint64_t key)
{
    if (program->key != 0)
        stop(program);
    program->hung = false;
    if (program->pid == 0 && !spawn(program))
        return PROGRAM_DIED;
    weir_buf_clear(&program->answer);
    program->written = 0;
    program->key = key;
    program->deadline_ms = weir_now_ms() + program->allowed->timeout / 1000;
    return preprocess_program_wait(program);
}
