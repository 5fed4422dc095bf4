/* Counted faults. Each case is a process of its own, because WEIR_FAULTS is read once. */
#include "core/base/fault.h"
#include "tests/support/child.h"

#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

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
    for (size_t i = 0; i < sizeof CASES / sizeof *CASES; i++) {
        struct child child;
        child_run(&child, pass_nine_times, &CASES[i].passes);
        assert_true(child_left_with(&child, CASES[i].code));
    }
}

static void an_exclamation_mark_kills_as_kill_9_would(void **state)
{
    (void)state;
    struct child child;
    child_run(&child, pass_nine_times, &(struct passes){"db.commit=!4", "db.commit"});
    assert_true(child_died_of(&child, SIGKILL));
}

static void a_malformed_variable_is_refused_loudly(void **state)
{
    (void)state;
    static const char *const WRONG[] = {"db.commit",   "=3",           "db.commit=", "db.commit=x",
                                        "db.commit=0", "db.commit=3x", "db.commit=!"};
    for (size_t i = 0; i < sizeof WRONG / sizeof *WRONG; i++) {
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
        cmocka_unit_test(an_exclamation_mark_kills_as_kill_9_would),
        cmocka_unit_test(a_malformed_variable_is_refused_loudly),
    };
    return cmocka_run_group_tests_name("fault", tests, NULL, NULL);
}
