/* Periods: what they are called, and where their boundaries lie. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include "core/base/clock.h"
#include "orchestrator/values/period.h"

#include <string.h>

static struct orchestrator_period period_of(const char *text)
{
    struct orchestrator_period period = {0};
    struct weir_error err;
    assert_int_equal(orchestrator_period_parse(text, &period, &err), WEIR_OK);
    return period;
}

static int64_t time_of(const char *text)
{
    int64_t time_us = 0;
    assert_true(weir_time_parse(text, strlen(text), &time_us));
    return time_us;
}

static void periods_are_read_in_words_and_units(void **state)
{
    (void)state;
    assert_int_equal(period_of("1 month").months, 1);
    assert_int_equal(period_of("3 months").months, 3);
    assert_int_equal(period_of("2 years").months, 24);
    assert_int_equal(period_of("90s").us, 90 * INT64_C(1000000));
    assert_int_equal(period_of("1d").us, INT64_C(86400000000));
    assert_int_equal(period_of("1d").months, 0);
    assert_int_equal(period_of("1 day").us, period_of("1d").us);
    assert_int_equal(period_of("2 weeks").us, period_of("2w").us);
    assert_int_equal(period_of("90 seconds").us, period_of("90s").us);
    assert_int_equal(period_of("1 day at 03:00").at_us, period_of("1d at 03:00").at_us);
}

static void what_is_no_period_is_refused_with_examples(void **state)
{
    (void)state;
    static const char *const WRONG[] = {"",           "month",        "0 month",     "1 moon",
                                        "-1d",        "0s",           "2000 months", "1d at 24:00",
                                        "1d at 3:00", "12h at 03:00", "1d at",       " at 03:00"};
    for (size_t i = 0; i < WEIR_COUNT(WRONG); i++) {
        struct orchestrator_period period;
        struct weir_error err;
        assert_int_equal(orchestrator_period_parse(WRONG[i], &period, &err), WEIR_INVALID);
        assert_non_null(strstr(err.text, "1 month"));
    }
}

static void boundaries_lie_on_a_fixed_grid(void **state)
{
    (void)state;
    static const struct {
        const char *every, *time, *next;
    } CASES[] = {
        {"1 month", "2002-08-22T11:36:23Z", "2002-09-01"},
        {"1d at 03:00", "2002-08-22T02:59:59Z", "2002-08-22T03:00:00Z"},
        {"1d at 03:00", "2002-08-22T03:00:00Z", "2002-08-23T03:00:00Z"},
        {"1w at 03:30", "2002-08-22T11:36:23Z", "2002-08-26T03:30:00Z"}, /* Mondays */
        {"1 month at 23:00", "2002-02-28T23:30:00Z", "2002-03-01T23:00:00Z"},
        {"1 month at 23:00", "2002-03-01T22:00:00Z", "2002-03-01T23:00:00Z"},
        {"1 month", "2004-02-29T12:00:00Z", "2004-03-01"},
        {"1 month", "2002-09-01", "2002-10-01"}, /* strictly after */
        {"1 month", "2002-12-31T23:59:59.999999Z", "2003-01-01"},
        {"1 month", "1969-12-15", "1970-01-01"},
        {"1 month", "1905-02-28", "1905-03-01"},
        {"3 months", "2002-08-22", "2002-10-01"},
        {"1 year", "2002-08-22", "2003-01-01"},
        {"1d", "2002-08-22T11:36:23Z", "2002-08-23"},
        {"1w", "2002-08-22", "2002-08-26"}, /* a Monday */
        {"6h", "1969-12-31T23:00:00Z", "1970-01-01"},
    };
    for (size_t i = 0; i < WEIR_COUNT(CASES); i++) {
        struct orchestrator_period period = period_of(CASES[i].every);
        assert_int_equal(orchestrator_period_next(&period, time_of(CASES[i].time)),
                         time_of(CASES[i].next));
    }
}

static void the_boundary_after_one_is_one_period_later(void **state)
{
    (void)state;
    struct orchestrator_period month = period_of("1 month"), week = period_of("1w");
    assert_int_equal(orchestrator_period_after(&month, time_of("2002-02-01")),
                     time_of("2002-03-01"));
    assert_int_equal(orchestrator_period_after(&week, time_of("2002-08-26")),
                     time_of("2002-09-02"));
}

static void boundaries_are_counted_with_both_ends(void **state)
{
    (void)state;
    static const struct {
        const char *every, *from, *to;
        uint64_t count;
    } CASES[] = {
        {"1d", "2002-02-01", "2002-02-28", 28},
        {"1d", "2002-02-01T00:00:01Z", "2002-02-27T23:00:00Z", 26},
        {"1 month", "2002-02-01", "2003-02-01", 13},
        {"1 month", "2002-02-02", "2002-02-27", 0},
        {"1 month", "2002-03-02", "2002-02-27", 0},
        {"1s", "2002-01-01", "2002-08-01", UINT64_C(18316801)},
    };
    for (size_t i = 0; i < WEIR_COUNT(CASES); i++) {
        struct orchestrator_period period = period_of(CASES[i].every);
        assert_int_equal(
            orchestrator_period_count(&period, time_of(CASES[i].from), time_of(CASES[i].to)),
            CASES[i].count);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(periods_are_read_in_words_and_units),
        cmocka_unit_test(what_is_no_period_is_refused_with_examples),
        cmocka_unit_test(boundaries_lie_on_a_fixed_grid),
        cmocka_unit_test(the_boundary_after_one_is_one_period_later),
        cmocka_unit_test(boundaries_are_counted_with_both_ends),
    };
    return cmocka_run_group_tests_name("period", tests, NULL, NULL);
}
