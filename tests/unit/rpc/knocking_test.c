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

/* ---- a crowd that comes back ---- */

/* Since the server died, in the time of the model. */
enum { LISTENS_MS = 1000, KEYED_MS = 5000 /* the longest that was measured */, BACK_MS = 10000 };
/* Processor of the busiest thread for one that returns, as measured with 10,000 (benchmarks/README.md). */
enum { RETURN_US = 360 };

struct comer {
    int64_t at_ms; /* of the handshake that lets it in */
    unsigned tries;
};

static uint64_t draw(uint64_t *state)
{
    return *state = weir_mix64(*state + 1);
}

/* ZeroMQ connects again until somebody listens; whose key is not known then is turned away, and knocks. */
static struct comer come_back(uint64_t seed)
{
    const struct weir_reconnects drawn = weir_reconnects_draw(draw(&seed));
    struct comer comer = {.at_ms = 0};
    int64_t pause_ms = drawn.first_ms;
    for (; comer.at_ms < LISTENS_MS; comer.tries++) {
        comer.at_ms += pause_ms + (int64_t)(draw(&seed) % (uint64_t)drawn.first_ms);
        pause_ms = 2 * pause_ms < drawn.last_ms ? 2 * pause_ms : drawn.last_ms;
    }
    for (unsigned knocks = 0; comer.at_ms < KEYED_MS; comer.tries++)
        comer.at_ms += weir_knock_pause_ms(knocks++, draw(&seed));
    return comer;
}

/* Without a clock: by what they draw, and by what each costs. */
static void ten_thousand_are_back_in_ten_seconds_after_few_tries(void **state)
{
    static unsigned comers[BACK_MS]; /* of each millisecond */
    int64_t busy_until_us = 0;
    uint64_t tries = 0;
    (void)state;
    for (uint64_t i = 0; i < DRAWN; i++) {
        const struct comer comer = come_back(weir_mix64(i));
        assert_in_range(comer.at_ms, KEYED_MS, BACK_MS - 1);
        comers[comer.at_ms]++;
        tries += comer.tries;
    }
    for (int64_t at_ms = 0; at_ms < BACK_MS; at_ms++) {
        if (comers[at_ms] > 0 && busy_until_us < at_ms * 1000)
            busy_until_us = at_ms * 1000;
        busy_until_us += comers[at_ms] * RETURN_US;
    }
    assert_in_range(busy_until_us, KEYED_MS * 1000, BACK_MS * 1000);
    assert_in_range(tries, DRAWN, 10 * DRAWN);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_connection_is_tried_again_soon_and_ever_more_seldom),
        cmocka_unit_test(thousands_do_not_come_back_together),
        cmocka_unit_test(a_key_that_is_turned_away_is_shown_ever_more_seldom),
        cmocka_unit_test(ten_thousand_are_back_in_ten_seconds_after_few_tries),
    };
    return cmocka_run_group_tests_name("knocking", tests, NULL, NULL);
}
