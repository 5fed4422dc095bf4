/* Event times as people write them, through a real scan. */
#include "tests/component/storage_lab.h"

#include "core/wire/sample.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

static struct storage_lab lab;

/* Times of the first samples of a dataset. */
static const int64_t *times_of(uint32_t dataset, uint32_t count)
{
    const struct msg_columns_read message = {.first = weir_sample_id(dataset, 0, 0),
                                             .count = count};
    struct msg_columns_is columns;

    assert_int_equal(
        storage_lab_request(&lab, MSG_columns_read, &message, MSG_columns_is, &columns), WEIR_OK);
    assert_int_equal(columns.times.count, count);
    return columns.times.at;
}

static void mixed_forms_of_one_place_become_instants(void **state)
{
    static const char LOADS[] = "  - name: loads\n"
                                "    source: {path: %s, format: csv, settle: 0ms}\n"
                                "    time: {from: field, field: ts, zone: Europe/Berlin,\n"
                                "           pattern: [\"%d.%m.%Y %H:%M\", \"%Y-%m-%d\"]}\n"
                                "    label: {field: load, type: float}\n";
    static const int64_t EXPECTED_S[] = {1711843200, 1711846800, 1729989000, 1717192800};
    const int64_t *times;

    (void)state;
    storage_lab_write(&lab, "a.csv",
                      "ts,load\n31.03.2024 01:00,1\n31.03.2024 02:00,2\n27.10.2024 02:30,3\n"
                      "2024-06-01,4\n");
    assert_int_equal(storage_lab_declare(&lab, LOADS), WEIR_OK);
    storage_lab_await_counts(&lab, "loads", WEIR_COUNT(EXPECTED_S), 0);
    times = times_of(1, WEIR_COUNT(EXPECTED_S));
    for (size_t i = 0; i < WEIR_COUNT(EXPECTED_S); i++)
        assert_int_equal(times[i], EXPECTED_S[i] * 1000000);
}

static void a_time_that_is_none_is_refused_by_column_and_form_and_never_by_its_value(void **state)
{
    static const char EVENTS[] = "  - name: events\n"
                                 "    source: {path: %s, format: csv, settle: 0ms}\n"
                                 "    time: {from: field, field: ts}\n"
                                 "    label: none\n";
    struct msg_dataset_is is;

    (void)state;
    storage_lab_write(&lab, "a.csv", "ts,x\n31/12/2024 02:30,1\nMiller,2\n2024-02-30,3\n");
    assert_int_equal(storage_lab_declare(&lab, EVENTS), WEIR_OK);
    is = storage_lab_await_counts(&lab, "events", 0, 3);
    assert_string_equal(is.complaints.at[2],
                        "a.csv:2: time 'ts': found \"99/99/9999 99:99\" (9: a digit, A and a: "
                        "letters), expected RFC 3339 like 2002-08-22T11:36:23Z, or a number; "
                        "time.pattern may be \"%d/%m/%Y %H:%M\"");
    assert_non_null(strstr(is.complaints.at[1], "a.csv:3: time 'ts': found \"Aaaaaa\""));
    assert_non_null(strstr(is.complaints.at[0], "a.csv:4: time 'ts': found \"9999-99-99\""));
    assert_non_null(strstr(is.complaints.at[0],
                           ", or a number; the form is right, but there is no such day or hour"));
    assert_null(strstr(is.complaints.at[1], "the form is right"));
}

static void numbers_are_times_by_their_unit(void **state)
{
    static const struct {
        const char *unit, *number;
        int64_t expected_us;
    } UNITS[] = {
        {"s", "1711843200", 1711843200000000},
        {"ms", "1711843200123", 1711843200123000},
        {"us", "1711843200123456", 1711843200123456},
        {"ns", "1711843200123456789", 1711843200123456},
        {"s", "1711843200.25", 1711843200250000},
        {"ns", "-1", -1},
        {"excel", "39448.5", 1199188800000000},
    };
    char yaml[4096] = "";

    (void)state;
    for (size_t i = 0; i < WEIR_COUNT(UNITS); i++) {
        char file[32], text[64];

        snprintf(file, sizeof(file), "u%zu.csv", i);
        snprintf(text, sizeof(text), "ts\n%s\n", UNITS[i].number);
        storage_lab_write(&lab, file, text);
        snprintf(yaml + strlen(yaml), sizeof(yaml) - strlen(yaml),
                 "  - {name: u%zu, source: {path: '%s', include: %s, format: csv, settle: 0ms},\n"
                 "     time: {from: field, field: ts, unit: %s}, label: none}\n",
                 i, storage_lab_path(&lab, "source"), file, UNITS[i].unit);
    }
    assert_int_equal(storage_lab_declare(&lab, yaml), WEIR_OK);
    for (size_t i = 0; i < WEIR_COUNT(UNITS); i++) {
        char name[32];

        snprintf(name, sizeof(name), "u%zu", i);
        storage_lab_await_counts(&lab, name, 1, 0);
        assert_int_equal(times_of((uint32_t)i + 1, 1)[0], UNITS[i].expected_us);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        STORAGE_CASE(&lab, mixed_forms_of_one_place_become_instants),
        STORAGE_CASE(&lab,
                     a_time_that_is_none_is_refused_by_column_and_form_and_never_by_its_value),
        STORAGE_CASE(&lab, numbers_are_times_by_their_unit),
    };
    return storage_lab_run(&lab, "storage: times", tests, WEIR_COUNT(tests));
}
