/* For tests of the platform: each case runs in a process of its own, because opening a data directory as
 * root gives up root, and because cases are killed. */
#ifndef WEIR_TESTS_SUPPORT_PLATFORM_CASE_H
#define WEIR_TESTS_SUPPORT_PLATFORM_CASE_H

#include "core/base/bytes.h"
#include "core/base/clock.h"
#include "core/base/file.h"
#include "core/base/memory.h"
#include "orchestrator/processes/supervisor.h"
#include "tests/support/loop.h"

#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

/* In a case's process: says what was expected, and ends it. */
#define expect(condition) \
    ((condition)          \
         ? (void)0        \
         : (fprintf(stderr, "%s:%d: expected %s\n", __FILE__, __LINE__, #condition), _exit(1)))

struct fixture {
    char directory[64];
    char data_dir[96];
};

static inline int setup(void **state)
{
    struct fixture *fixture = weir_calloc(1, sizeof(*fixture));
    const char *root = getenv("TMPDIR");
    (void)snprintf(fixture->directory, sizeof(fixture->directory), "%s/weir-platform-XXXXXX",
                   root != NULL ? root : "/tmp");
    assert_non_null(mkdtemp(fixture->directory));
    assert_int_equal(chmod(fixture->directory, 0755), 0);
    (void)snprintf(fixture->data_dir, sizeof(fixture->data_dir), "%s/data", fixture->directory);
    *state = fixture;
    return 0;
}

/* Where root runs the tests from a place that only root may enter, clusters lie outside. */
static inline void remove_outside_cluster(const struct fixture *fixture)
{
    WEIR_AUTO_FREE char *path = weir_format("%s/postgres.location", fixture->data_dir);
    WEIR_AUTO_BUF outside = {0};
    if (weir_file_read(path, 4096, &outside, NULL) == WEIR_OK)
        weir_ignore(weir_remove_tree(weir_buf_text(&outside), NULL)); /* best effort */
}

static inline int teardown(void **state)
{
    struct fixture *fixture = *state;
    remove_outside_cluster(fixture);
    int status = weir_remove_tree(fixture->directory, NULL) == WEIR_OK ? 0 : -1;
    free(fixture);
    return status;
}

typedef void case_fn(const struct fixture *fixture);

static inline void run_case(void **state, case_fn *fn)
{
    pid_t pid = fork();
    assert_true(pid >= 0);
    if (pid == 0) {
        fn(*state);
        (void)fflush(NULL);
        exit(0);
    }
    int ended = 0;
    assert_int_equal(waitpid(pid, &ended, 0), pid);
    assert_int_equal(ended, 0);
}

/* Steps the loop until `*flag`, or gives up. */
static inline void step_until(struct weir_loop *loop, const bool *flag)
{
    for (int64_t end_ms = weir_now_ms() + TEST_PATIENCE_MS; !*flag;
         weir_loop_step(loop, TEST_STEP_MS))
        expect(weir_now_ms() < end_ms);
}

static inline void raise_flag(void *owner)
{
    *(bool *)owner = true;
}

struct ends {
    char order[256];
    unsigned restarts;
    bool restarted;
    bool killed;
};

static inline void note_end(void *owner, const struct orchestrator_child_exit *ended)
{
    struct ends *ends = owner;
    size_t used = strlen(ends->order);
    (void)snprintf(ends->order + used, sizeof(ends->order) - used, "%s ", ended->name);
    ends->restarts = ended->restarts;
    ends->restarted = ended->restarting;
    ends->killed = WIFSIGNALED(ended->wait_status) && WTERMSIG(ended->wait_status) == SIGKILL;
}

static inline void start_shell(struct orchestrator_supervisor *supervisor, const char *name,
                               const char *script, enum orchestrator_stage stage, struct ends *ends)
{
    char shell[] = "/bin/sh", flag[] = "-c";
    WEIR_AUTO_FREE char *text = weir_strdup(script);
    char *argv[] = {shell, flag, text, NULL};
    const struct orchestrator_child child = {
        .name = name,
        .argv = argv,
        .restart = true,
        .stage = stage,
        .stop_ms = 300,
        .exited = note_end,
        .owner = ends,
    };
    struct weir_error err;
    expect(orchestrator_supervisor_start(supervisor, &child, &err) == WEIR_OK);
}

#endif
