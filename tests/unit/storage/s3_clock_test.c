/* The clock of a store is known from the seconds that it says, never to be later than it is. */
#include "storage/objects/s3_clock.h"

#include "core/base/rng.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

enum { SECOND = 1000 * 1000 };

/* An answer that took `way_us` each way, of a store whose clock is `ahead_us` of the monotonic one. */
static void hear(struct s3_clock *clock, int64_t now_us, int64_t ahead_us, int64_t way_us)
{
    storage_s3_clock_hear(clock, (now_us + ahead_us) / SECOND, now_us - way_us, now_us + way_us);
}

static void one_answer_does_not_say_when_a_second_ends(void **state)
{
    struct s3_clock clock = {0};
    int64_t time_us;

    (void)state;
    assert_false(storage_s3_clock_read(&clock, 0, &time_us));
    hear(&clock, 5 * SECOND, 100 * SECOND, 1000);
    assert_false(storage_s3_clock_read(&clock, 5 * SECOND, &time_us));
}

static void answers_at_other_moments_of_the_second_narrow_it_down(void **state)
{
    const int64_t ahead_us = 100 * (int64_t)SECOND + 123456;
    struct s3_clock clock = {0};
    struct weir_rng rng;
    int64_t now_us = SECOND, time_us;

    (void)state;
    weir_rng_init(&rng, 4711);
    for (unsigned i = 0; i < 100; i++) {
        now_us += (int64_t)weir_rng_below(&rng, 2 * SECOND);
        hear(&clock, now_us, ahead_us, (int64_t)weir_rng_below(&rng, 20 * 1000));
        if (storage_s3_clock_read(&clock, now_us, &time_us)) {
            assert_true(time_us <= now_us + ahead_us);
            assert_true(time_us >= now_us + ahead_us - S3_CLOCK_SPAN_US);
        }
    }
    assert_true(storage_s3_clock_read(&clock, now_us, &time_us));
    assert_true(now_us + ahead_us - time_us < SECOND / 10);
}

static void what_was_known_long_ago_is_not_known_now(void **state)
{
    struct s3_clock clock = {0};
    int64_t time_us;

    (void)state;
    hear(&clock, 10 * SECOND + 900000, 0, 0);
    hear(&clock, 11 * SECOND + 100000, 0, 0);
    assert_true(storage_s3_clock_read(&clock, 11 * SECOND + 100000, &time_us));
    assert_true(storage_s3_clock_read(&clock, 60 * (int64_t)SECOND, &time_us));
    assert_false(storage_s3_clock_read(&clock, 3600 * (int64_t)SECOND, &time_us));
}

static void a_store_whose_clock_was_set_is_believed_from_then_on(void **state)
{
    struct s3_clock clock = {0};
    int64_t time_us;

    (void)state;
    hear(&clock, 10 * SECOND + 900000, 0, 0);
    hear(&clock, 11 * SECOND + 100000, 0, 0);
    hear(&clock, 12 * SECOND + 900000, -5 * SECOND, 0);
    assert_false(storage_s3_clock_read(&clock, 12 * SECOND + 900000, &time_us));
    hear(&clock, 13 * SECOND + 100000, -5 * SECOND, 0);
    assert_true(storage_s3_clock_read(&clock, 13 * SECOND + 100000, &time_us));
    assert_true(time_us <= 8 * SECOND + 100000);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(one_answer_does_not_say_when_a_second_ends),
        cmocka_unit_test(answers_at_other_moments_of_the_second_narrow_it_down),
        cmocka_unit_test(what_was_known_long_ago_is_not_known_now),
        cmocka_unit_test(a_store_whose_clock_was_set_is_believed_from_then_on),
    };
    return cmocka_run_group_tests_name("s3: the clock of a store", tests, NULL, NULL);
}
