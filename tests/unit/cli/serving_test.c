/* The orchestrator as a child of a command. */
#include "cli/serving.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <sys/wait.h>

#include <cmocka.h>

static void a_start_that_fails_leaves_no_child(void **state)
{
    (void)state;
    struct cli_serving serving;
    struct weir_error err;
    (void)setenv("WEIR_FAULTS", "cli.pidfd=1", 1);
    assert_int_equal(cli_serving_start("/nowhere", true, &serving, &err), WEIR_IO);
    assert_int_equal(waitpid(-1, NULL, 0), -1);
    assert_int_equal(errno, ECHILD);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_start_that_fails_leaves_no_child),
    };
    return cmocka_run_group_tests_name("serving", tests, NULL, NULL);
}
