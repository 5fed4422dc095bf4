/* Local times of places: against Python's zoneinfo, which reads the same database by other code. */
#include "core/base/attributes.h"
#include "core/base/clock.h"
#include "core/base/zone.h"

#include <inttypes.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static int64_t time_of(const char *text)
{
    int64_t time_us = -1;
    assert_true(weir_time_parse(text, strlen(text), &time_us));
    return time_us;
}

static void a_skipped_hour_is_read_as_before_the_jump_and_a_double_one_as_the_first(void **state)
{
    static const struct {
        const char *local, *utc;
    } CASES[] = {
        {"2024-01-15 12:00:00", "2024-01-15T11:00:00Z"},
        {"2024-07-15 12:00:00", "2024-07-15T10:00:00Z"},
        {"2024-03-31 01:59:59", "2024-03-31T00:59:59Z"},
        {"2024-03-31 02:30:00", "2024-03-31T01:30:00Z"}, /* clocks skip it */
        {"2024-03-31 03:00:00", "2024-03-31T01:00:00Z"},
        {"2024-10-27 02:30:00", "2024-10-27T00:30:00Z"}, /* clocks show it twice */
        {"2024-10-27 03:00:00", "2024-10-27T02:00:00Z"},
        {"2150-07-15 12:00:00", "2150-07-15T10:00:00Z"}, /* by the rule behind the table */
    };
    WEIR_AUTO(weir_zone) zone = NULL;
    struct weir_error err;

    (void)state;
    assert_int_equal(weir_zone_open("Europe/Berlin", &zone, &err), WEIR_OK);
    for (size_t i = 0; i < WEIR_COUNT(CASES); i++)
        assert_true(weir_zone_to_utc(zone, time_of(CASES[i].local)) == time_of(CASES[i].utc));
}

/* Lines of zone, local and UTC seconds, from 1920 to 2036, as far as the tables go: around each jump, and at random. */
static const char SCRIPT[] =
    "import random, zoneinfo\n"
    "from datetime import datetime, timedelta, timezone\n"
    "EPOCH, SECOND = datetime(1970, 1, 1), timedelta(seconds=1)\n"
    "random.seed(5)\n"
    "for name in ('Europe/Berlin', 'America/New_York', 'Australia/Lord_Howe', 'Asia/Kolkata',\n"
    "             'Europe/Dublin', 'Africa/Casablanca', 'UTC', 'America/St_Johns', 'Asia/Tehran'):\n"
    "    zone, locals = zoneinfo.ZoneInfo(name), []\n"
    "    for day in range(365 * 117):\n"
    "        noon = datetime(1920, 1, 1, 12) + timedelta(days=day)\n"
    "        a, b = (noon + timedelta(days=d) for d in (-1, 1))\n"
    "        if a.replace(tzinfo=zone).utcoffset() != b.replace(tzinfo=zone).utcoffset():\n"
    "            locals += [noon + timedelta(minutes=random.randrange(-1440, 1440)) for _ in range(6)]\n"
    "    locals += [datetime(1920, 1, 1) + timedelta(seconds=random.randrange(117 * 31557600)) for _ in range(500)]\n"
    "    for t in locals:\n"
    "        utc = t.replace(tzinfo=zone).astimezone(timezone.utc).replace(tzinfo=None)\n"
    "        print(name, (t - EPOCH) // SECOND, (utc - EPOCH) // SECOND)\n";

static void every_zone_agrees_with_python(void **state)
{
    WEIR_AUTO(weir_zone) zone = NULL;
    char name[64], opened[64] = "";
    int64_t local, utc;
    size_t count = 0;
    struct weir_error err;
    FILE *lines;

    (void)state;
    assert_int_equal(setenv("WEIR_SCRIPT", SCRIPT, 1), 0);
    lines = popen(WEIR_PYTHON " -c \"$WEIR_SCRIPT\"", "r");
    assert_non_null(lines);
    for (; fscanf(lines, "%63s %" SCNd64 " %" SCNd64, name, &local, &utc) == 3; count++) {
        if (strcmp(name, opened) != 0) {
            weir_zone_free(zone);
            assert_int_equal(weir_zone_open(name, &zone, &err), WEIR_OK);
            memcpy(opened, name, sizeof(opened));
        }
        if (weir_zone_to_utc(zone, local * 1000000) != utc * 1000000)
            fail_msg("%s: local %" PRId64 " is %" PRId64 ", expected %" PRId64, name, local,
                     weir_zone_to_utc(zone, local * 1000000) / 1000000, utc);
    }
    assert_int_equal(pclose(lines), 0);
    assert_true(count > 9000);
}

static void what_is_no_name_of_the_database_is_refused(void **state)
{
    static const char *const NAMES[] = {"",     "Europe/Nowhere", "UTC+2", "+02:00",
                                        "EST5", "/etc/localtime", "../UTC"};
    struct weir_zone *zone = NULL;
    struct weir_error err;

    (void)state;
    for (size_t i = 0; i < WEIR_COUNT(NAMES); i++)
        assert_int_equal(weir_zone_open(NAMES[i], &zone, &err), WEIR_NOT_FOUND);
    assert_non_null(strstr(err.text, "expected a name of the IANA database"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_skipped_hour_is_read_as_before_the_jump_and_a_double_one_as_the_first),
        cmocka_unit_test(every_zone_agrees_with_python),
        cmocka_unit_test(what_is_no_name_of_the_database_is_refused),
    };
    return cmocka_run_group_tests_name("zone", tests, NULL, NULL);
}
