/* Counted faults. Each case is a process of its own, because WEIR_FAULTS is read once. */
#include "core/base/fault.h"
#include "tests/support/child.h"

#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

struct passes {
    const char *faults; /* NULL: the variable is not set */
    const char *point;
};

/* Exits with the number of the pass (1 … 9) that failed first plus 10 times how many failed; 0 for
 * none. */
static int pass_nine_times(const void *argument)
{
    const struct passes *passes = argument;
    int first = 0, failed = 0;
    if (passes->faults != NULL)
        setenv("WEIR_FAULTS", passes->faults, 1);
    else
        unsetenv("WEIR_FAULTS");
    for (int pass = 1; pass <= 9; pass++) {
        if (weir_fault(passes->point)) {
            first = first == 0 ? pass : first;
            failed++;
        }
    }
    return first + 10 * failed;
}

static void exactly_the_named_pass_over_the_named_point_fails(void **state)
{
    (void)state;
    static const struct {
        struct passes passes;
        int code;
    } CASES[] = {
        {{NULL, "db.commit"}, 0},
        {{"", "db.commit"}, 0},
        {{"db.commit=3", "db.commit"}, 13},
        {{"db.commit=3", "db.commi"}, 0},
        {{"db.commit=3", "db.commit2"}, 0},
        {{"other=1,db.commit=9", "db.commit"}, 19},
        {{"db.commit=2,db.commit=5", "db.commit"}, 22},
        {{"db.commit=10", "db.commit"}, 0},
        {{"other=!1", "db.commit"}, 0},
    };
    for (size_t i = 0; i < sizeof(CASES) / sizeof(*CASES); i++) {
        struct child child;
        child_run(&child, pass_nine_times, &CASES[i].passes);
        assert_true(child_left_with(&child, CASES[i].code));
    }
}

enum { THREADS = 4, PASSES_EACH = 1000 };

static void *count_failures(void *ret_count)
{
    for (int i = 0; i < PASSES_EACH; i++)
        *(int *)ret_count += weir_fault("shared");
    return NULL;
}

static int pass_from_threads(const void *argument)
{
    (void)argument;
    pthread_t threads[THREADS];
    int counts[THREADS] = {0}, failures = 0;
    setenv("WEIR_FAULTS", "shared=2500", 1);
    for (size_t i = 0; i < THREADS; i++)
        weir_require(pthread_create(&threads[i], NULL, count_failures, &counts[i]) == 0);
    for (size_t i = 0; i < THREADS; i++) {
        pthread_join(threads[i], NULL);
        failures += counts[i];
    }
    return failures;
}

static void passes_of_several_threads_are_counted_together(void **state)
{
    (void)state;
    struct child child;
    child_run(&child, pass_from_threads, NULL);
    assert_true(child_left_with(&child, 1));
}

static void an_exclamation_mark_kills_as_kill_9_would(void **state)
{
    (void)state;
    struct child child;
    child_run(&child, pass_nine_times, &(struct passes){"db.commit=!4", "db.commit"});
    assert_true(child_died_of(&child, SIGKILL));
}

/* Leaves with the result of nine passes of which one stops, or with 90 if none does. */
static int stop_and_go_on(const void *argument)
{
    int status;
    pid_t child = fork();
    if (child == 0)
        _exit(pass_nine_times(argument));
    weir_require(child > 0 && waitpid(child, &status, WUNTRACED) == child);
    if (!WIFSTOPPED(status))
        return 90;
    weir_require(kill(child, SIGCONT) == 0 && waitpid(child, &status, 0) == child);
    return WEXITSTATUS(status);
}

static void a_question_mark_stops_until_somebody_continues(void **state)
{
    (void)state;
    static const struct {
        struct passes passes;
        int code;
    } CASES[] = {
        {{"db.commit=?4", "db.commit"}, 0},
        {{"db.commit=?4,db.commit=6", "db.commit"}, 16},
        {{"db.commit=?4", "other"}, 90},
        {{"db.commit=?10", "db.commit"}, 90},
    };
    for (size_t i = 0; i < sizeof(CASES) / sizeof(*CASES); i++) {
        struct child child;
        child_run(&child, stop_and_go_on, &CASES[i].passes);
        assert_true(child_left_with(&child, CASES[i].code));
    }
}

static void a_malformed_variable_is_refused_loudly(void **state)
{
    (void)state;
    static const char *const WRONG[] = {
        "db.commit",   "=3",           "db.commit=",  "db.commit=x",
        "db.commit=0", "db.commit=3x", "db.commit=!", "db.commit=!?3"};
    for (size_t i = 0; i < sizeof(WRONG) / sizeof(*WRONG); i++) {
        struct child child;
        child_run(&child, pass_nine_times, &(struct passes){WRONG[i], "db.commit"});
        assert_true(child_died_of(&child, SIGABRT));
        assert_non_null(strstr(child.errors, "WEIR_FAULTS"));
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(exactly_the_named_pass_over_the_named_point_fails),
        cmocka_unit_test(passes_of_several_threads_are_counted_together),
        cmocka_unit_test(an_exclamation_mark_kills_as_kill_9_would),
        cmocka_unit_test(a_question_mark_stops_until_somebody_continues),
        cmocka_unit_test(a_malformed_variable_is_refused_loudly),
    };
    return cmocka_run_group_tests_name("fault", tests, NULL, NULL);
}
