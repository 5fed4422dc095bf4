/* Running a sibling: its output goes into memory files, so that there is nothing to read while it runs. */
#include "cli/program.h"

#include "core/base/memory.h"

#include <errno.h>
#include <limits.h>
#include <spawn.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

enum { OUTPUT_MAX = 16 << 20, ARGUMENTS_MAX = 16, SIGNALLED = 128, PIECE = 1 << 16 };

char *cli_program_path(const char *name)
{
    char self[PATH_MAX];
    ssize_t size = readlink("/proc/self/exe", self, sizeof(self) - 1);
    self[size > 0 ? size : 0] = '\0';
    char *slash = strrchr(self, '/');
    if (slash == NULL)
        return weir_strdup(name);
    *slash = '\0';
    return weir_format("%s/%s", self, name);
}

void cli_program_end_fini(struct cli_program_end *end)
{
    weir_buf_fini(&end->out);
    weir_buf_fini(&end->complaints);
}

static enum weir_status read_all(int fd, struct weir_buf *buf, struct weir_error *err)
{
    for (;;) {
        weir_buf_reserve(buf, PIECE);
        ssize_t got = pread(fd, buf->at + buf->size, PIECE, (off_t)buf->size);
        if (got < 0)
            return weir_fail(err, WEIR_IO, "reading a program's output: %s", strerror(errno));
        if (got == 0)
            return WEIR_OK;
        buf->size += (size_t)got;
        if (buf->size > OUTPUT_MAX)
            return weir_fail(err, WEIR_LIMIT, "a program printed more than %d bytes", OUTPUT_MAX);
    }
}

static enum weir_status spawn_into(const char *name, const char *const *arguments, const int fds[2],
                                   pid_t *ret_pid, struct weir_error *err)
{
    extern char **environ;
    WEIR_AUTO_FREE char *path = cli_program_path(name);
    char *argv[ARGUMENTS_MAX + 2] = {path};
    size_t count = 0;
    for (; arguments[count] != NULL; count++) {
        weir_require(count < ARGUMENTS_MAX);
        argv[count + 1] = weir_strdup(arguments[count]);
    }
    posix_spawn_file_actions_t actions;
    (void)posix_spawn_file_actions_init(&actions);
    (void)posix_spawn_file_actions_adddup2(&actions, fds[0], STDOUT_FILENO);
    (void)posix_spawn_file_actions_adddup2(&actions, fds[1], STDERR_FILENO);
    int problem = posix_spawn(ret_pid, path, &actions, NULL, argv, environ);
    (void)posix_spawn_file_actions_destroy(&actions);
    for (size_t i = 1; i <= count; i++)
        free(argv[i]);
    return problem == 0
               ? WEIR_OK
               : weir_fail(err, WEIR_NOT_FOUND, "%s: cannot be run: %s; it belongs beside weir",
                           path, strerror(problem));
}

static int wait_for(pid_t pid)
{
    int ended = 0;
    while (waitpid(pid, &ended, 0) < 0 && errno == EINTR) {
    }
    return WIFEXITED(ended) ? WEXITSTATUS(ended) : SIGNALLED + WTERMSIG(ended);
}

enum weir_status cli_program_run(const char *name, const char *const *arguments,
                                 struct cli_program_end *ret_end, struct weir_error *err)
{
    int fds[2] = {memfd_create("out", MFD_CLOEXEC), memfd_create("complaints", MFD_CLOEXEC)};
    pid_t pid = 0;
    *ret_end = (struct cli_program_end){0};
    enum weir_status status =
        fds[0] < 0 || fds[1] < 0
            ? weir_fail(err, WEIR_IO, "memory for a program's output: %s", strerror(errno))
            : spawn_into(name, arguments, fds, &pid, err);
    if (status == WEIR_OK) {
        ret_end->exit_code = wait_for(pid);
        status = read_all(fds[0], &ret_end->out, err);
    }
    if (status == WEIR_OK)
        status = read_all(fds[1], &ret_end->complaints, err);
    for (size_t i = 0; i < WEIR_COUNT(fds); i++)
        if (fds[i] >= 0)
            (void)close(fds[i]);
    if (status != WEIR_OK)
        cli_program_end_fini(ret_end);
    return status;
}
