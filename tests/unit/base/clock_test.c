/* Time as text and in calendar months, and clocks that go forward. */
#include "core/base/attributes.h"
#include "core/base/clock.h"
#include "core/base/rng.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <time.h>

#include <cmocka.h>

#define SECONDS(number) ((int64_t)(number)*1000000)

static bool parse(const char *text, int64_t *ret_time_us)
{
    return weir_time_parse(text, strlen(text), ret_time_us);
}

static int64_t time_of(const char *text)
{
    int64_t time_us = -1;
    assert_true(parse(text, &time_us));
    return time_us;
}

static void assert_formats(int64_t time_us, const char *expected)
{
    char text[WEIR_TIME_TEXT_MAX];
    weir_time_format(time_us, text);
    assert_string_equal(text, expected);
}

static void known_times_are_written_as_people_write_them(void **state)
{
    (void)state;
    static const struct {
        int64_t time_us;
        const char *text;
    } CASES[] = {
        {0, "1970-01-01T00:00:00Z"},
        {SECONDS(1030016183), "2002-08-22T11:36:23Z"},
        {SECONDS(1030016183) + 500000, "2002-08-22T11:36:23.5Z"},
        {SECONDS(951782400), "2000-02-29T00:00:00Z"},
        {-1, "1969-12-31T23:59:59.999999Z"},
        {SECONDS(-2208988800), "1900-01-01T00:00:00Z"},
        {SECONDS(-62135596800), "0001-01-01T00:00:00Z"},
    };
    for (size_t i = 0; i < WEIR_COUNT(CASES); i++) {
        assert_formats(CASES[i].time_us, CASES[i].text);
        assert_true(time_of(CASES[i].text) == CASES[i].time_us);
    }
}

static void the_ends_of_64_bits_can_be_written(void **state)
{
    (void)state;
    assert_formats(INT64_MAX, "294247-01-10T04:00:54.775807Z");
    assert_formats(INT64_MIN, "-290308-12-21T19:59:05.224192Z");
}

static void every_written_time_is_read_back(void **state)
{
    (void)state;
    struct weir_rng rng;
    weir_rng_init(&rng, 1);
    int64_t from = time_of("0000-01-01"), to = time_of("9999-12-31T23:59:59.999999Z");
    for (int i = 0; i < 10000; i++) {
        char text[WEIR_TIME_TEXT_MAX];
        int64_t time_us = from + (int64_t)weir_rng_below(&rng, (uint64_t)(to - from));
        weir_time_format(time_us, text);
        assert_true(time_of(text) == time_us);
    }
}

static void the_calendar_agrees_with_the_system(void **state)
{
    (void)state;
    struct weir_rng rng;
    weir_rng_init(&rng, 2);
    for (int i = 0; i < 10000; i++) {
        char text[WEIR_TIME_TEXT_MAX], expected[WEIR_TIME_TEXT_MAX];
        time_t seconds = (time_t)weir_rng_below(&rng, 8000000000) - 2000000000;
        struct tm fields;
        assert_non_null(gmtime_r(&seconds, &fields));
        strftime(expected, sizeof(expected), "%Y-%m-%dT%H:%M:%SZ", &fields);
        weir_time_format(SECONDS(seconds), text);
        assert_string_equal(text, expected);
    }
}

static void the_forms_of_rfc_3339_are_understood(void **state)
{
    (void)state;
    static const char *const SAME[] = {
        "2002-08-22T11:36:23Z",      "2002-08-22t11:36:23z",        "2002-08-22 11:36:23",
        "2002-08-22T13:36:23+02:00", "2002-08-22T06:06:23-05:30",   "2002-08-22T11:36:23.000Z",
        "2002-08-22T11:36:23-00:00", "2002-08-22T11:36:23.0000009",
    };
    for (size_t i = 0; i < WEIR_COUNT(SAME); i++)
        assert_true(time_of(SAME[i]) == SECONDS(1030016183));
    assert_true(time_of("2002-08-22") == SECONDS(1029974400));
    assert_true(time_of("2016-12-31T23:59:60Z") == time_of("2017-01-01T00:00:00Z"));
    assert_true(time_of("2002-08-22T11:36:23.123456789Z") == SECONDS(1030016183) + 123456);
}

static void what_is_no_time_is_refused_and_nothing_is_written(void **state)
{
    (void)state;
    static const char *const WRONG[] = {
        "",
        "2002",
        "2002-08",
        "2002-8-22",
        "2002-13-01",
        "2002-00-01",
        "2002-02-29",
        "1900-02-29",
        "2002-04-31",
        "2002-08-22T",
        "2002-08-22T11:36",
        "2002-08-22T24:00:00Z",
        "2002-08-22T11:60:00Z",
        "2002-08-22T11:36:61Z",
        "2002-08-22T11:36:23.Z",
        "2002-08-22T11:36:23+0200",
        "2002-08-22T11:36:23+24:00",
        "2002-08-22T11:36:23Zx",
        "2002-08-22x",
        " 2002-08-22",
        "+002-08-22",
        "-2002-08-22",
    };
    for (size_t i = 0; i < WEIR_COUNT(WRONG); i++) {
        int64_t time_us = 4711;
        assert_false(parse(WRONG[i], &time_us));
        assert_int_equal(time_us, 4711);
    }
    int64_t time_us;
    assert_false(weir_time_parse("2002-08-22\0", 11, &time_us)); /* a zero byte is no end */
    assert_true(weir_time_parse("2002-08-22T", 10, &time_us));   /* the size is */
}

static void months_are_added_in_the_calendar(void **state)
{
    (void)state;
    static const struct {
        const char *from;
        int64_t months;
        const char *to;
    } CASES[] = {
        {"2002-08-22T11:36:23.5Z", 1, "2002-09-22T11:36:23.5Z"},
        {"2001-01-31", 1, "2001-02-28T00:00:00Z"},
        {"2000-01-31", 1, "2000-02-29T00:00:00Z"},
        {"2000-02-29", 12, "2001-02-28T00:00:00Z"},
        {"2002-12-15", 1, "2003-01-15T00:00:00Z"},
        {"2002-01-15", -1, "2001-12-15T00:00:00Z"},
        {"1970-01-01", -1, "1969-12-01T00:00:00Z"},
        {"2002-05-31", 0, "2002-05-31T00:00:00Z"},
        {"2002-05-31", 30, "2004-11-30T00:00:00Z"},
    };
    for (size_t i = 0; i < WEIR_COUNT(CASES); i++)
        assert_formats(weir_time_add_months(time_of(CASES[i].from), CASES[i].months), CASES[i].to);
}

static void months_beyond_64_bits_stop_at_their_ends(void **state)
{
    (void)state;
    static const int64_t MONTHS[] = {4000000, INT64_MAX / 20, INT64_MAX};
    for (size_t i = 0; i < WEIR_COUNT(MONTHS); i++) {
        assert_true(weir_time_add_months(0, MONTHS[i]) == INT64_MAX);
        assert_true(weir_time_add_months(0, -MONTHS[i]) == INT64_MIN);
    }
    assert_true(weir_time_add_months(INT64_MAX, 0) == INT64_MAX);
    assert_true(weir_time_add_months(INT64_MIN, 0) == INT64_MIN);
    assert_true(weir_time_add_months(INT64_MIN, 1) ==
                INT64_MIN + SECONDS(31 * 86400)); /* December */
}

static void clocks_do_not_go_back(void **state)
{
    (void)state;
    int64_t ms = weir_now_ms(), ns = weir_now_ns(), cpu = weir_cpu_ns(),
            thread = weir_cpu_thread_ns();
    for (volatile int i = 0; i < 100000; i++) {
    }
    assert_true(weir_now_ms() >= ms);
    assert_true(weir_now_ns() > ns);
    assert_true(weir_cpu_ns() > cpu);
    assert_true(weir_cpu_thread_ns() > thread);
    assert_true(weir_now_wall_us() > time_of("2020-01-01"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(known_times_are_written_as_people_write_them),
        cmocka_unit_test(the_ends_of_64_bits_can_be_written),
        cmocka_unit_test(every_written_time_is_read_back),
        cmocka_unit_test(the_calendar_agrees_with_the_system),
        cmocka_unit_test(the_forms_of_rfc_3339_are_understood),
        cmocka_unit_test(what_is_no_time_is_refused_and_nothing_is_written),
        cmocka_unit_test(months_are_added_in_the_calendar),
        cmocka_unit_test(months_beyond_64_bits_stop_at_their_ends),
        cmocka_unit_test(clocks_do_not_go_back),
    };
    return cmocka_run_group_tests_name("clock", tests, NULL, NULL);
}
