/* Decisions of storage by the wall clock, under a clock that jumps by years. */
#include "storage/feed/replay_state.h"
#include "storage/scanning/scan_state.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

static const int64_t SECOND_US = 1000000, YEAR_S = INT64_C(365) * 24 * 3600;
static const int64_t NOW_S = INT64_C(1767225600); /* 2026 */

static void a_file_settles_in_its_time_and_counts_as_written_when_the_clock_jumps(void **state)
{
    const int64_t now_us = NOW_S * SECOND_US, settle_us = 10 * SECOND_US;

    (void)state;
    assert_int_equal(storage_youth_us(settle_us, now_us - 4 * SECOND_US, now_us), 6 * SECOND_US);
    assert_int_equal(storage_youth_us(settle_us, now_us - settle_us, now_us), 0);
    assert_true(storage_youth_us(0, now_us, now_us) > 0); /* at least a tick of file times */
    for (int years = 1; years <= 50; years++) {
        const int64_t jump_us = years * YEAR_S * SECOND_US;

        assert_int_equal(storage_youth_us(settle_us, now_us, now_us + jump_us), 0);
        assert_int_equal(storage_youth_us(settle_us, now_us, now_us - jump_us), 0);
    }
}

static void an_order_of_a_replay_goes_when_the_clock_jumps_ahead_and_stays_when_it_is_set_back(
    void **state)
{
    (void)state;
    assert_false(storage_replay_is_left_over("7-9.order", NOW_S - 3600, NOW_S));
    assert_true(storage_replay_is_left_over("7-9.order", NOW_S - 2 * 24 * 3600, NOW_S));
    for (int years = 1; years <= 50; years++) {
        assert_true(storage_replay_is_left_over("7-9.order", NOW_S, NOW_S + years * YEAR_S));
        assert_false(storage_replay_is_left_over("7-9.order", NOW_S, NOW_S - years * YEAR_S));
        assert_true(storage_replay_is_left_over("7-9.part", NOW_S, NOW_S - years * YEAR_S));
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_file_settles_in_its_time_and_counts_as_written_when_the_clock_jumps),
        cmocka_unit_test(
            an_order_of_a_replay_goes_when_the_clock_jumps_ahead_and_stays_when_it_is_set_back),
    };
    return cmocka_run_group_tests_name("clock_jumps", tests, NULL, NULL);
}
