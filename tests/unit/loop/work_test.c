/* Work beside the loop: its end is heard on the loop, what it has done is seen there, and it can be given up. */
#include "core/loop/work.h"
#include "tests/support/loop.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

struct job {
    struct weir_work *work;
    size_t counted;
    bool waits; /* goes on until it is given up */
    bool was_given_up;
    bool done;
};

static int set_up(void **state)
{
    *state = weir_loop_new();
    return 0;
}

static int tear_down(void **state)
{
    weir_loop_free(*state);
    return 0;
}

static void count(struct weir_work *work, void *owner)
{
    struct job *job = owner;
    while (weir_work_goes_on(work, job->counted, 1000))
        if (!job->waits && job->counted++ == 1000)
            return;
    job->was_given_up = true;
}

static void on_done(void *owner)
{
    struct job *job = owner;
    job->done = true;
}

static void start(struct weir_loop *loop, struct job *job)
{
    struct weir_error err;
    assert_int_equal(weir_work_start(loop, count, on_done, job, &job->work, &err), WEIR_OK);
}

static void its_end_is_heard_on_the_loop(void **state)
{
    struct job one = {0}, other = {0};
    start(*state, &one);
    start(*state, &other);
    test_loop_until(*state, &one.done);
    test_loop_until(*state, &other.done);
    assert_int_equal(one.counted, 1001);
    assert_int_equal(other.counted, 1001);
    assert_false(one.was_given_up);
}

static void what_is_cancelled_is_heard_of_too(void **state)
{
    struct job job = {.waits = true, .counted = 7};
    start(*state, &job);
    while (weir_work_progress(job.work).total == 0)
        weir_loop_step(*state, 1);
    assert_int_equal(weir_work_progress(job.work).done, 7);
    assert_false(job.done);
    weir_work_cancel(job.work);
    test_loop_until(*state, &job.done);
    assert_true(job.was_given_up);
}

static void what_is_stopped_is_over_and_not_heard_of(void **state)
{
    struct job job = {.waits = true};
    start(*state, &job);
    weir_work_stop(job.work);
    weir_work_stop(NULL);
    assert_true(job.was_given_up);
    test_loop_rounds(*state, 3);
    assert_false(job.done);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(its_end_is_heard_on_the_loop, set_up, tear_down),
        cmocka_unit_test_setup_teardown(what_is_cancelled_is_heard_of_too, set_up, tear_down),
        cmocka_unit_test_setup_teardown(what_is_stopped_is_over_and_not_heard_of, set_up,
                                        tear_down),
    };
    return cmocka_run_group_tests_name("work", tests, NULL, NULL);
}
