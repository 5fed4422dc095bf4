/* Processes that are known by a variable are found wherever they have gone. */
#include "core/base/environment.h"

#include "core/base/bytes.h"

#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

static void a_variable_has_the_name_before_its_first_equals_sign(void **state)
{
    (void)state;
    assert_true(weir_variable_is("WEIR_RANK=1", "WEIR_RANK"));
    assert_true(weir_variable_is("WEIR_RANK=", "WEIR_RANK"));
    assert_false(weir_variable_is("WEIR_RANKS=1", "WEIR_RANK"));
    assert_false(weir_variable_is("WEIR_RANK", "WEIR_RANK"));
    assert_false(weir_variable_is("RANK=1", "WEIR_RANK"));
}

static void a_variable_that_is_cut_off_is_not_found(void **state)
{
    static const char TEXT[] = "A=1\0BB=2\0\0C=3";
    struct weir_environment whole = {TEXT, sizeof(TEXT)}, cut = {TEXT, sizeof(TEXT) - 1};
    (void)state;
    assert_string_equal(weir_environment_find(whole, "A"), "A=1");
    assert_string_equal(weir_environment_find(whole, "BB"), "BB=2");
    assert_string_equal(weir_environment_find(whole, "C"), "C=3");
    assert_null(weir_environment_find(whole, "B"));
    assert_string_equal(weir_environment_find(cut, "BB"), "BB=2");
    assert_null(weir_environment_find(cut, "C"));
    assert_null(weir_environment_find((struct weir_environment){TEXT, 0}, "A"));
}

static bool has_mark(const void *mark, struct weir_environment environment)
{
    return weir_str_equal(weir_environment_find(environment, "WEIR_TEST_MARK"), mark);
}

static pid_t start_apart(char *mark)
{
    pid_t pid = fork();
    if (pid != 0)
        return pid;
    char *const env[] = {mark, NULL};
    (void)setsid();
    (void)execle("/bin/sleep", "sleep", "600", (char *)NULL, env);
    _exit(1);
}

static void one_in_a_session_of_its_own_is_killed_and_no_other(void **state)
{
    char mark[64], other[64];
    int ended;
    (void)state;
    (void)snprintf(mark, sizeof(mark), "WEIR_TEST_MARK=%d.a", (int)getpid());
    (void)snprintf(other, sizeof(other), "WEIR_TEST_MARK=%d.b", (int)getpid());
    pid_t stray = start_apart(mark), stranger = start_apart(other);
    while (weir_strays_kill(has_mark, mark) == 0) /* it may not have begun */
        (void)usleep(1000);
    assert_int_equal(waitpid(stray, &ended, 0), stray);
    assert_true(WIFSIGNALED(ended) && WTERMSIG(ended) == SIGKILL);
    assert_int_equal(weir_strays_kill(has_mark, mark), 0);
    assert_int_equal(waitpid(stranger, &ended, WNOHANG), 0);
    assert_int_equal(kill(stranger, SIGKILL), 0);
    assert_int_equal(waitpid(stranger, &ended, 0), stranger);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_variable_has_the_name_before_its_first_equals_sign),
        cmocka_unit_test(a_variable_that_is_cut_off_is_not_found),
        cmocka_unit_test(one_in_a_session_of_its_own_is_killed_and_no_other),
    };
    return cmocka_run_group_tests_name("environment", tests, NULL, NULL);
}
