/* Trainers that are told to end, and when. */
#include "orchestrator/runs/run_watch.h"
#include "tests/support/loop.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

enum { PATIENCE_S = 60, LEAVES_S = 30 };

struct fixture {
    struct weir_loop *loop;
    struct orchestrator_trainers trainers;
    struct run_watch *watch;
    struct test_clock clock;
    int64_t ended; /* run that was told to end last; 0: none */
};

static void end_trainer(void *owner, int64_t run)
{
    struct fixture *fixture = owner;
    assert_int_equal(fixture->ended, 0); /* each is told once */
    fixture->ended = run;
}

static int begin(void **state)
{
    static struct fixture fixture;
    fixture = (struct fixture){.loop = weir_loop_new(),
                               .trainers = {.owner = &fixture, .end = end_trainer}};
    test_clock_start(&fixture.clock, fixture.loop);
    fixture.watch = orchestrator_run_watch_new(fixture.loop, &fixture.trainers);
    *state = &fixture;
    return 0;
}

static int end(void **state)
{
    struct fixture *fixture = *state;
    orchestrator_run_watch_free(fixture->watch);
    weir_loop_free(fixture->loop);
    return 0;
}

static void pass(struct fixture *fixture, int seconds)
{
    for (int i = 0; i < seconds; i++)
        test_clock_advance(&fixture->clock, fixture->loop, 1000);
}

static void who_says_nothing_for_too_long_is_told_to_end(void **state)
{
    struct fixture *fixture = *state;
    struct run_watch *watch = fixture->watch;
    orchestrator_run_watch_begin(watch, 7, 0, PATIENCE_S * 1000);
    pass(fixture, PATIENCE_S - 1);
    orchestrator_run_watch_hear(watch, 7, 0);
    orchestrator_run_watch_hear(watch, 8, 0); /* somebody else */
    pass(fixture, PATIENCE_S - 1);
    assert_int_equal(fixture->ended, 0);
    pass(fixture, 5);
    assert_int_equal(fixture->ended, 7);
    assert_true(orchestrator_run_watch_end(watch, 7, 0) >= PATIENCE_S * 1000);
    assert_int_equal(orchestrator_run_watch_end(watch, 7, 0), 0);
}

static void who_is_given_a_run_and_does_not_take_it_up_is_told_to_end_soon(void **state)
{
    struct fixture *fixture = *state;
    struct run_watch *watch = fixture->watch;
    orchestrator_run_watch_given(watch, 7, PATIENCE_S * 1000);
    orchestrator_run_watch_hear(watch, 7, 0);
    pass(fixture, PATIENCE_S - 1); /* it is at work */
    assert_int_equal(fixture->ended, 0);
    (void)orchestrator_run_watch_end(watch, 7, 0);
    orchestrator_run_watch_given(watch, 8, PATIENCE_S * 1000);
    pass(fixture, PATIENCE_S / 4);
    assert_int_equal(fixture->ended, 8);
}

static void who_is_done_and_does_not_leave_is_told_to_end(void **state)
{
    struct fixture *fixture = *state;
    struct run_watch *watch = fixture->watch;
    orchestrator_run_watch_begin(watch, 7, 0, PATIENCE_S * 1000);
    orchestrator_run_watch_leaves(watch, 7);
    pass(fixture, LEAVES_S - 1);
    orchestrator_run_watch_hear(watch, 7, 0); /* it goes on saying so */
    assert_int_equal(fixture->ended, 0);
    pass(fixture, 2);
    assert_int_equal(fixture->ended, 7);
    assert_int_equal(orchestrator_run_watch_end(watch, 7, 0), 0); /* that is no failure */
}

static void nobody_is_silent_while_the_orchestrator_itself_is_suspended(void **state)
{
    struct fixture *fixture = *state;
    orchestrator_run_watch_begin(fixture->watch, 7, 0, PATIENCE_S * 1000);
    test_clock_advance(&fixture->clock, fixture->loop, 10 * PATIENCE_S * 1000);
    orchestrator_run_watch_hear(fixture->watch, 7, 0);
    pass(fixture, PATIENCE_S - 1);
    assert_int_equal(fixture->ended, 0);
}

#define CASE(test) cmocka_unit_test_setup_teardown(test, begin, end)

int main(void)
{
    const struct CMUnitTest tests[] = {
        CASE(who_says_nothing_for_too_long_is_told_to_end),
        CASE(who_is_given_a_run_and_does_not_take_it_up_is_told_to_end_soon),
        CASE(who_is_done_and_does_not_leave_is_told_to_end),
        CASE(nobody_is_silent_while_the_orchestrator_itself_is_suspended),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
