/* Waiting for buckets, by clocks that jump. */
#include "storage/erasure/s3_pending.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

static const int64_t SECOND_US = 1000000, YEAR_US = INT64_C(365) * 24 * 3600 * 1000000;
static const int64_t NOW_US = INT64_C(1767225600) * 1000000; /* 2026 */

static void a_pause_is_waited_for(void **state)
{
    (void)state;
    assert_int_equal(storage_pending_wait_ms(NOW_US + 2 * SECOND_US, NOW_US), 2001);
    assert_int_equal(storage_pending_wait_ms(NOW_US + 3600 * SECOND_US, NOW_US), 3600001);
    assert_int_equal(storage_pending_wait_ms(NOW_US, NOW_US), 0);
}

static void what_was_paused_is_due_at_once_when_the_clock_jumps_by_years(void **state)
{
    (void)state;
    for (int years = 1; years <= 50; years++) {
        assert_int_equal(storage_pending_wait_ms(NOW_US + SECOND_US, NOW_US - years * YEAR_US), 0);
        assert_int_equal(storage_pending_wait_ms(NOW_US + SECOND_US, NOW_US + years * YEAR_US), 0);
    }
    assert_int_equal(storage_pending_wait_ms(INT64_MAX, 1), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_pause_is_waited_for),
        cmocka_unit_test(what_was_paused_is_due_at_once_when_the_clock_jumps_by_years),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
