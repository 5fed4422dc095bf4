/* Patience with a loop that holds a batch back from an erasure. */
#include "trainer_client/held.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

enum { BEGIN_MS = 1000 };

static void a_loop_that_lets_go_is_left_alone(void **state)
{
    struct held_watch watch = {0};
    (void)state;
    for (int64_t now_ms = BEGIN_MS; now_ms < 10 * HELD_END_MS; now_ms += HELD_WARN_MS / 2) {
        assert_int_equal(trainer_held_look(&watch, true, now_ms), HELD_FINE);
        assert_int_equal(trainer_held_look(&watch, false, now_ms + 1), HELD_FINE);
    }
}

static void it_is_warned_once_and_then_ended(void **state)
{
    struct held_watch watch = {0};
    int warnings = 0;
    (void)state;
    for (int64_t past_ms = 0; past_ms < HELD_END_MS; past_ms += 20) {
        enum held_verdict verdict = trainer_held_look(&watch, true, BEGIN_MS + past_ms);
        assert_int_equal(verdict, past_ms == HELD_WARN_MS ? HELD_WARN : HELD_FINE);
        warnings += verdict == HELD_WARN;
    }
    assert_int_equal(warnings, 1);
    assert_int_equal(trainer_held_look(&watch, true, BEGIN_MS + HELD_END_MS), HELD_END);
}

static void each_erasure_has_patience_of_its_own(void **state)
{
    struct held_watch watch = {0};
    (void)state;
    (void)trainer_held_look(&watch, true, BEGIN_MS);
    assert_int_equal(trainer_held_look(&watch, true, BEGIN_MS + HELD_WARN_MS), HELD_WARN);
    assert_int_equal(trainer_held_look(&watch, false, BEGIN_MS + HELD_WARN_MS + 1), HELD_FINE);
    int64_t again_ms = BEGIN_MS + HELD_END_MS;
    assert_int_equal(trainer_held_look(&watch, true, again_ms), HELD_FINE);
    assert_int_equal(trainer_held_look(&watch, true, again_ms + HELD_WARN_MS), HELD_WARN);
    assert_int_equal(trainer_held_look(&watch, true, again_ms + HELD_END_MS), HELD_END);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_loop_that_lets_go_is_left_alone),
        cmocka_unit_test(it_is_warned_once_and_then_ended),
        cmocka_unit_test(each_erasure_has_patience_of_its_own),
    };
    return cmocka_run_group_tests_name("held", tests, NULL, NULL);
}
