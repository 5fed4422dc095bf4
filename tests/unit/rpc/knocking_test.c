/* Pauses of those who come back after their server was away. */
#include "core/rpc/knocking.h"

#include "core/base/rng.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>

#include <cmocka.h>

enum { DRAWN = 10000, TENTHS = 10 };

static void a_connection_is_tried_again_soon_and_ever_more_seldom(void **state)
{
    (void)state;
    for (uint64_t i = 0; i < DRAWN; i++) {
        const struct weir_reconnects drawn = weir_reconnects_draw(weir_mix64(i));
        assert_in_range(drawn.first_ms, WEIR_RECONNECT_MIN_MS, WEIR_RECONNECT_FIRST_MAX_MS);
        assert_in_range(2 * drawn.first_ms, 0, WEIR_RECONNECT_FIRST_MAX_MS);
        assert_in_range(drawn.last_ms, WEIR_RECONNECT_LAST_MIN_MS, WEIR_RECONNECT_MAX_MS);
        assert_in_range(drawn.last_ms + drawn.first_ms, 0, WEIR_RECONNECT_MAX_MS);
    }
}

/* No tenth of the time has twice its share. */
static void thousands_do_not_come_back_together(void **state)
{
    size_t first[TENTHS] = {0}, last[TENTHS] = {0};
    enum { FIRST_MS = WEIR_RECONNECT_FIRST_MAX_MS / 2 - WEIR_RECONNECT_MIN_MS };
    enum { LAST_MS = WEIR_RECONNECT_MAX_MS - WEIR_RECONNECT_LAST_MIN_MS };
    (void)state;
    for (uint64_t i = 0; i < DRAWN; i++) {
        const struct weir_reconnects drawn = weir_reconnects_draw(weir_mix64(i));
        first[(drawn.first_ms - WEIR_RECONNECT_MIN_MS) * TENTHS / FIRST_MS]++;
        last[(drawn.last_ms - WEIR_RECONNECT_LAST_MIN_MS) * TENTHS / LAST_MS]++;
    }
    for (size_t i = 0; i < TENTHS; i++) {
        assert_in_range(first[i], 1, 2 * DRAWN / TENTHS);
        assert_in_range(last[i], 0, 2 * DRAWN / TENTHS);
    }
}

static void a_key_that_is_turned_away_is_shown_ever_more_seldom(void **state)
{
    static const int ABOUT_MS[] = {200, 400, 800, 1600, 3200, 5000, 5000};
    (void)state;
    for (unsigned knocks = 0; knocks < sizeof(ABOUT_MS) / sizeof(ABOUT_MS[0]); knocks++) {
        bool differ = false;
        for (uint64_t i = 0; i < DRAWN; i++) {
            int64_t pause_ms = weir_knock_pause_ms(knocks, weir_mix64(i));
            assert_in_range(pause_ms, ABOUT_MS[knocks] * 3 / 4, ABOUT_MS[knocks] * 5 / 4);
            differ |= pause_ms != weir_knock_pause_ms(knocks, weir_mix64(i + 1));
        }
        assert_true(differ);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_connection_is_tried_again_soon_and_ever_more_seldom),
        cmocka_unit_test(thousands_do_not_come_back_together),
        cmocka_unit_test(a_key_that_is_turned_away_is_shown_ever_more_seldom),
    };
    return cmocka_run_group_tests_name("knocking", tests, NULL, NULL);
}
