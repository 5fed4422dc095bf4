/* A process of Weir leaves no dump of its memory, unless a developer wants one. */
#include "core/base/bytes.h"
#include "core/base/dumps.h"
#include "core/base/error.h"
#include "core/base/file.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

/* State of a process that forbids dumps, or tries to: 1 no core file, 2 no memory in a dump, 4 private. */
static int forbidden(bool is_private)
{
    pid_t pid = fork();
    if (pid == 0) {
        struct rlimit limit;
        struct weir_error err;
        WEIR_AUTO_BUF filter = {0};
        weir_dumps_forbid(is_private);
        bool is_read = weir_file_read("/proc/self/coredump_filter", 64, &filter, &err) == WEIR_OK;
        (void)getrlimit(RLIMIT_CORE, &limit);
        int found = limit.rlim_cur == 0 && limit.rlim_max == 0 ? 1 : 0;
        found |= is_read && strtol(weir_buf_text(&filter), NULL, 16) == 0 ? 2 : 0;
        found |= prctl(PR_GET_DUMPABLE) == 0 ? 4 : 0;
        _exit(found);
    }
    int ended = 0;
    assert_int_equal(waitpid(pid, &ended, 0), pid);
    assert_true(WIFEXITED(ended));
    return WEXITSTATUS(ended);
}

static void no_memory_is_dumped(void **state)
{
    (void)state;
    assert_int_equal(forbidden(false), 1 | 2);
#ifndef WEIR_SANITIZED
    assert_int_equal(forbidden(true), 1 | 2 | 4);
#endif
}

static void a_developer_may_have_dumps(void **state)
{
    (void)state;
    assert_int_equal(setenv("WEIR_CORE_DUMPS", "1", 1), 0);
    assert_int_equal(forbidden(true) & (2 | 4), 0);
    assert_int_equal(unsetenv("WEIR_CORE_DUMPS"), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(no_memory_is_dumped),
        cmocka_unit_test(a_developer_may_have_dumps),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
