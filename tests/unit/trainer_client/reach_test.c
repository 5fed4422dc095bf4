/* Workers of whom nothing is heard: asked, and lost when they do not answer; those on this host's sockets never are. */
#include "trainer_client/reach.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

enum { JOINED_MS = 5000 };

static void a_silent_worker_is_asked_once_and_then_lost(void **state)
{
    struct reach reach = {.is_far = true, .heard_ms = JOINED_MS};

    (void)state;
    assert_false(trainer_reach_is_due(&reach, JOINED_MS + REACH_ASK_MS - 1));
    assert_true(trainer_reach_is_due(&reach, JOINED_MS + REACH_ASK_MS));
    reach.is_asked = true;
    assert_false(trainer_reach_is_due(&reach, JOINED_MS + REACH_ASK_MS + 1));
    assert_false(trainer_reach_is_lost(&reach, JOINED_MS + REACH_LOST_MS - 1));
    assert_true(trainer_reach_is_lost(&reach, JOINED_MS + REACH_LOST_MS));
}

static void whoever_is_heard_again_is_not_lost(void **state)
{
    struct reach reach = {.is_far = true, .heard_ms = JOINED_MS};

    (void)state;
    assert_true(trainer_reach_is_lost(&reach, JOINED_MS + REACH_LOST_MS));
    reach.heard_ms = JOINED_MS + REACH_LOST_MS;
    assert_false(trainer_reach_is_lost(&reach, JOINED_MS + REACH_LOST_MS));
}

static void a_worker_of_this_host_is_neither_asked_nor_lost(void **state)
{
    const struct reach reach = {.is_far = false};

    (void)state;
    assert_false(trainer_reach_is_due(&reach, JOINED_MS));
    assert_false(trainer_reach_is_lost(&reach, JOINED_MS));
}

/* The trainer's patience and one beat of its are no more than five seconds. */
static void a_worker_is_lost_soon_enough(void **state)
{
    (void)state;
    assert_in_range(REACH_LOST_MS, REACH_ASK_MS + REACH_ANSWER_MS, 4000);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_silent_worker_is_asked_once_and_then_lost),
        cmocka_unit_test(whoever_is_heard_again_is_not_lost),
        cmocka_unit_test(a_worker_of_this_host_is_neither_asked_nor_lost),
        cmocka_unit_test(a_worker_is_lost_soon_enough),
    };
    return cmocka_run_group_tests_name("client: reach", tests, NULL, NULL);
}
