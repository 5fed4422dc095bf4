/* Times as people write them, by patterns and zones. */
#include "core/config/written_time.h"

#include "core/base/attributes.h"
#include "core/base/clock.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

/* Reads `{pattern: …, zone: …}`. */
static struct weir_yaml *declare(const char *text, struct weir_written_time *ret_written,
                                 enum weir_status expected, struct weir_error *ret_err)
{
    struct weir_yaml *document = NULL;
    const struct weir_yaml_node *root;

    *ret_written = (struct weir_written_time){0};
    assert_int_equal(weir_yaml_parse("p.yaml", weir_bytes(text, strlen(text)), &document, ret_err),
                     WEIR_OK);
    root = weir_yaml_root(document);
    assert_int_equal(weir_written_time_declared(ret_written, weir_yaml_get(root, "pattern"),
                                                weir_yaml_get(root, "zone"), "datasets[0].time",
                                                ret_err),
                     expected);
    return document;
}

struct reading {
    const char *declared, *text;
    const char *time; /* NULL: refused */
};

typedef bool read_fn(const struct weir_written_time *written, const char *text,
                     int64_t *ret_time_us);

static bool read_text(const struct weir_written_time *written, const char *text,
                      int64_t *ret_time_us)
{
    return weir_written_time_read(written, weir_bytes_of(text), ret_time_us);
}

static bool read_serial(const struct weir_written_time *written, const char *text,
                        int64_t *ret_time_us)
{
    return weir_written_time_of_real(written, strtod(text, NULL), WEIR_TIME_SERIAL_DAYS,
                                     ret_time_us);
}

static void assert_reads(const struct reading *reading, read_fn *read)
{
    struct weir_written_time written;
    struct weir_error err;
    struct weir_yaml *document = declare(reading->declared, &written, WEIR_OK, &err);
    char found[WEIR_TIME_TEXT_MAX] = "none";
    int64_t time_us;

    if (read(&written, reading->text, &time_us))
        weir_time_format(time_us, found);
    assert_string_equal(found, reading->time != NULL ? reading->time : "none");
    weir_written_time_fini(&written);
    weir_yaml_free(document);
}

static void a_pattern_reads_the_whole_of_what_people_write(void **state)
{
    static const struct reading READINGS[] = {
        {"{}", "2024-01-31T10:20:30.5+01:00", "2024-01-31T09:20:30.5Z"},
        {"{pattern: \"%d/%m/%Y %H:%M\"}", "31/01/2024 10:20", "2024-01-31T10:20:00Z"},
        {"{pattern: \"%d/%m/%Y %H:%M\"}", "31/1/2024 9:20", "2024-01-31T09:20:00Z"},
        {"{pattern: \"%m/%d/%y %I:%M %p\"}", "01/31/24 10:20 PM", "2024-01-31T22:20:00Z"},
        {"{pattern: \"%d-%b-%Y\"}", "31-Jan-2024", "2024-01-31T00:00:00Z"},
        {"{pattern: \"%Y%m%d%H%M%S\"}", "20240131102030", "2024-01-31T10:20:30Z"},
        {"{pattern: \"%Y-%m\"}", "2024-02", "2024-02-01T00:00:00Z"},
        {"{pattern: \"%Y-%m-%d %H:%M:%S.%f\"}", "2024-01-31 10:20:30.1234567",
         "2024-01-31T10:20:30.123456Z"},
        {"{pattern: \"%H:%M:%S.%f %d.%m.%Y\"}", "10:20:30.25 31.01.2024",
         "2024-01-31T10:20:30.25Z"},
        {"{pattern: \"100%% %Y\"}", "100% 2024", "2024-01-01T00:00:00Z"},
        {"{pattern: \"%Y-%m-%d %H:%M %z\"}", "2024-01-31 10:20 -0330", "2024-01-31T13:50:00Z"},
        {"{pattern: \"%d/%m/%Y\"}", "31/01/2024 10:20", NULL},
        {"{pattern: \"%d/%m/%Y\"}", "30/02/2024", NULL},
        {"{pattern: \"%d/%m/%Y\"}", "29/02/2023", NULL},
        {"{pattern: \"%d/%m/%Y\"}", "29/02/2024", "2024-02-29T00:00:00Z"},
        {"{pattern: \"%d/%m/%Y\"}", "01/13/2024", NULL},
        {"{pattern: \"%Y-%m-%d %H:%M:%S.%f\"}", "2024-01-31 10:20:30.", NULL},
        {"{pattern: \"%d/%m/%Y\"}", "", NULL},
        {"{pattern: \"%d/%m/%Y\"}",
         "31/01/2024                                                            ", NULL},
    };

    (void)state;
    for (size_t i = 0; i < WEIR_COUNT(READINGS); i++)
        assert_reads(&READINGS[i], read_text);
}

static void a_zone_is_for_times_that_name_none(void **state)
{
    static const struct reading READINGS[] = {
        {"{zone: Europe/Berlin}", "2024-07-01T10:00:00", "2024-07-01T08:00:00Z"},
        {"{zone: Europe/Berlin}", "2024-07-01", "2024-06-30T22:00:00Z"},
        {"{zone: Europe/Berlin}", "2024-07-01T10:00:00Z", "2024-07-01T10:00:00Z"},
        {"{zone: Europe/Berlin, pattern: \"%d.%m.%Y %H:%M\"}", "01.01.2024 10:00",
         "2024-01-01T09:00:00Z"},
        {"{zone: Europe/Berlin, pattern: \"%d.%m.%Y %H:%M\"}", "31.03.2024 02:30",
         "2024-03-31T01:30:00Z"},
        {"{zone: Europe/Berlin, pattern: \"%d.%m.%Y %H:%M\"}", "27.10.2024 02:30",
         "2024-10-27T00:30:00Z"},
        {"{zone: Europe/Berlin, pattern: \"%d.%m.%Y %H:%M %z\"}", "01.01.2024 10:00 +0000",
         "2024-01-01T10:00:00Z"},
    };

    (void)state;
    for (size_t i = 0; i < WEIR_COUNT(READINGS); i++)
        assert_reads(&READINGS[i], read_text);
}

static void mixed_forms_are_tried_in_order(void **state)
{
    static const struct reading READINGS[] = {
        {"{pattern: [\"%d/%m/%Y\", \"%m/%d/%Y\", \"%Y\"]}", "02/03/2024", "2024-03-02T00:00:00Z"},
        {"{pattern: [\"%d/%m/%Y\", \"%m/%d/%Y\", \"%Y\"]}", "02/13/2024", "2024-02-13T00:00:00Z"},
        {"{pattern: [\"%d/%m/%Y\", \"%m/%d/%Y\", \"%Y\"]}", "2024", "2024-01-01T00:00:00Z"},
        {"{pattern: [\"%d/%m/%Y\", \"%m/%d/%Y\", \"%Y\"]}", "now", NULL},
    };

    (void)state;
    for (size_t i = 0; i < WEIR_COUNT(READINGS); i++)
        assert_reads(&READINGS[i], read_text);
}

static void the_name_of_a_file_may_go_on_after_the_pattern(void **state)
{
    static const struct reading READINGS[] = {
        {"{pattern: \"day_%Y-%m-%d\"}", "clicks/day_2024-01-31.csv.zst", "2024-01-31T00:00:00Z"},
        {"{pattern: \"%Y/%m/%d\"}", "2024/01/31/part-7.csv", "2024-01-31T00:00:00Z"},
        {"{pattern: \"%Y/%m/%d\"}", "a/2024/01/31/part-7.csv", NULL},
        {"{pattern: \"%Y%m%d\", zone: Asia/Kolkata}", "20240131.csv", "2024-01-30T18:30:00Z"},
    };

    (void)state;
    for (size_t i = 0; i < WEIR_COUNT(READINGS); i++)
        assert_reads(&READINGS[i], weir_written_time_of_path);
}

/* Microsoft documents 39448 as 1 January 2008 (support article "DATE function"); 61 follows the day that never was. */
static void days_of_spreadsheets_are_local_days(void **state)
{
    static const struct reading READINGS[] = {
        {"{}", "39448", "2008-01-01T00:00:00Z"},
        {"{}", "39448.5", "2008-01-01T12:00:00Z"},
        {"{}", "39448.430902777778", "2008-01-01T10:20:30Z"},
        {"{zone: Europe/Berlin}", "39448.5", "2008-01-01T11:00:00Z"},
        {"{}", "61", "1900-03-01T00:00:00Z"},
        {"{}", "60", NULL},
        {"{}", "1e9", NULL},
        {"{}", "-5", NULL},
    };

    (void)state;
    for (size_t i = 0; i < WEIR_COUNT(READINGS); i++)
        assert_reads(&READINGS[i], read_serial);
}

static void a_pattern_that_fits_is_suggested(void **state)
{
    static const struct {
        const char *text, *hint;
    } CASES[] = {
        {"31/01/2024 10:20", "; time.pattern may be \"%d/%m/%Y %H:%M\""},
        {"01/02/2024", "; time.pattern may be \"%d/%m/%Y\" or \"%m/%d/%Y\""},
        {"2024-01-31 10:20", "; time.pattern may be \"%Y-%m-%d %H:%M\""},
        {"20240131", "; time.pattern may be \"%Y%m%d\""},
        {"1672531200", "; time.unit, without a pattern, reads numbers since 1970"},
        {"yesterday", ""},
        {"", ""},
    };

    (void)state;
    for (size_t i = 0; i < WEIR_COUNT(CASES); i++) {
        WEIR_AUTO_BUF hint = {0};

        weir_written_time_suggest(weir_bytes(CASES[i].text, strlen(CASES[i].text)), &hint);
        assert_string_equal(weir_buf_text(&hint), CASES[i].hint);
    }
}

static void a_day_that_is_none_is_told_from_another_form(void **state)
{
    static const struct {
        const char *declared, *text;
        bool has_form;
    } CASES[] = {
        {"{}", "2024-02-30", true},
        {"{}", "2024-02-03T25:00:00Z", true},
        {"{}", "30.02.2024", false},
        {"{pattern: \"%d.%m.%Y %H:%M\"}", "30.02.2024 1:60", true},
        {"{pattern: \"%d.%m.%Y\"}", "30.02.24 noon", false},
        {"{pattern: \"%d.%m.%Y\"}", "", false},
    };

    (void)state;
    for (size_t i = 0; i < WEIR_COUNT(CASES); i++) {
        struct weir_written_time written;
        struct weir_error err;
        struct weir_yaml *document = declare(CASES[i].declared, &written, WEIR_OK, &err);
        struct weir_bytes text = weir_bytes_of(CASES[i].text);
        int64_t time_us;

        assert_false(weir_written_time_read(&written, text, &time_us));
        if (weir_written_time_has_form(&written, text) != CASES[i].has_form)
            fail_msg("%s of %s", CASES[i].text, CASES[i].declared);
        weir_written_time_fini(&written);
        weir_yaml_free(document);
    }
}

static void what_cannot_be_read_by_is_refused_with_its_place(void **state)
{
    static const struct {
        const char *declared, *complaint;
    } CASES[] = {
        {"{pattern: \"%d/%m\"}", "with a year among them"},
        {"{pattern: \"%Q %Y\"}", "expected the conversions of strptime()"},
        {"{pattern: \"%Y %\"}", "expected the conversions of strptime()"},
        {"{pattern: \"\"}", "expected a text such as"},
        {"{pattern: []}", "expected a text such as"},
        {"{pattern: [\"%Y\", {a: b}]}", "expected a text such as"},
        {"{pattern: \"%s\"}", "a number since 1970 needs unit"},
        {"{pattern: \"%d/%m/%Y %H:%M %p\"}", "expected %I beside %p"},
        {"{pattern: \"%d/%m/%Y %I:%M\"}", "expected %p beside %I, or %H"},
        {"{pattern: \"%Y-%m-%d %Z\"}", "say zone, or read an offset by %z"},
        {"{zone: Europe/Nowhere}",
         "p.yaml:1:8: datasets[0].time.zone: found no time zone 'Europe/Nowhere'"},
    };

    (void)state;
    for (size_t i = 0; i < WEIR_COUNT(CASES); i++) {
        struct weir_written_time written;
        struct weir_error err;
        struct weir_yaml *document = declare(CASES[i].declared, &written, WEIR_INVALID, &err);

        if (strstr(err.text, CASES[i].complaint) == NULL)
            fail_msg("found: %s", err.text);
        weir_written_time_fini(&written);
        weir_yaml_free(document);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_pattern_reads_the_whole_of_what_people_write),
        cmocka_unit_test(a_zone_is_for_times_that_name_none),
        cmocka_unit_test(mixed_forms_are_tried_in_order),
        cmocka_unit_test(the_name_of_a_file_may_go_on_after_the_pattern),
        cmocka_unit_test(days_of_spreadsheets_are_local_days),
        cmocka_unit_test(a_pattern_that_fits_is_suggested),
        cmocka_unit_test(a_day_that_is_none_is_told_from_another_form),
        cmocka_unit_test(what_cannot_be_read_by_is_refused_with_its_place),
    };
    return cmocka_run_group_tests_name("written_time", tests, NULL, NULL);
}
