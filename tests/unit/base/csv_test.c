/* RFC 4180, one record at a time, and what becomes of broken ones. */
#include "core/base/csv.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static struct weir_csv_record record;

static void records_fall_into_fields(void **state)
{
    static const struct {
        const char *text;
        const char *fields[4]; /* NULL: no more */
        size_t size, length, lines;
    } CASES[] = {
        {"a,b,c\nnext", {"a", "b", "c"}, 6, 5, 1},
        {"a,,c\r\nnext", {"a", "", "c"}, 6, 4, 1},
        {"\"a,1\",\"say \"\"hi\"\"\",c\n", {"a,1", "say \"hi\"", "c"}, 21, 20, 1},
        {"\"two\nlines\",x\n", {"two\nlines", "x"}, 14, 13, 2},
        {"last,one", {"last", "one"}, 8, 8, 0},
        {",\n", {"", ""}, 2, 1, 1},
        {"a\rb,c\n", {"a\rb", "c"}, 6, 5, 1},
    };

    (void)state;
    for (size_t i = 0; i < WEIR_COUNT(CASES); i++) {
        size_t count = 0;

        assert_int_equal(
            weir_csv_read(weir_bytes_of(CASES[i].text), WEIR_CSV_COMMAS, true, &record),
            WEIR_CSV_RECORD);
        while (count < 4 && CASES[i].fields[count] != NULL)
            count++;
        assert_int_equal(record.count, count);
        for (size_t f = 0; f < count; f++) {
            WEIR_AUTO_BUF scratch = {0};
            struct weir_bytes value = weir_csv_value(record.fields[f], &scratch);

            assert_true(weir_bytes_equal(value, weir_bytes_of(CASES[i].fields[f])));
        }
        assert_int_equal(record.extent.size, CASES[i].size);
        assert_int_equal(record.extent.length, CASES[i].length);
        assert_int_equal(record.extent.lines, CASES[i].lines);
    }
}

/* Whatever ends a field may be anywhere in what is looked at together. */
static void fields_may_be_of_any_length(void **state)
{
    (void)state;
    for (size_t length = 0; length < 200; length++) {
        WEIR_AUTO_BUF text = {0};

        for (size_t i = 0; i < length; i++)
            weir_buf_append_text(&text, i % 3 == 1 ? "\r" : "x");
        weir_buf_append_text(&text, ",\"");
        for (size_t i = 0; i < length; i++)
            weir_buf_append_text(&text, ",\n");
        weir_buf_append_text(&text, "\",y\r\nrest");
        assert_int_equal(weir_csv_read(weir_buf_view(&text), WEIR_CSV_COMMAS, true, &record),
                         WEIR_CSV_RECORD);
        assert_int_equal(record.count, 3);
        assert_int_equal(record.fields[0].raw.size, length);
        assert_int_equal(record.fields[1].raw.size, 2 * length);
        assert_int_equal(record.fields[2].raw.size, 1);
        assert_int_equal(record.extent.size, text.size - 4);
        assert_int_equal(record.extent.length, record.extent.size - 2);
        assert_int_equal(record.extent.lines, 1 + length);
    }
}

static void a_cut_record_asks_for_more(void **state)
{
    static const char *const TEXTS[] = {"a,b", "\"a", "\"a\"", "a,b\r", "", "a\"b,c"};

    (void)state;
    for (size_t i = 0; i < WEIR_COUNT(TEXTS); i++)
        assert_int_equal(weir_csv_read(weir_bytes_of(TEXTS[i]), WEIR_CSV_COMMAS, false, &record),
                         WEIR_CSV_MORE);
}

static void a_broken_record_gives_up_its_first_line_only(void **state)
{
    static const char *const TEXTS[] = {"a,\"b\nc,d\n", "a\"b,c\nd,e\n", "\"a\"b,c\nd,e\n"};

    (void)state;
    for (size_t i = 0; i < WEIR_COUNT(TEXTS); i++) {
        assert_int_equal(weir_csv_read(weir_bytes_of(TEXTS[i]), WEIR_CSV_COMMAS, true, &record),
                         WEIR_CSV_BROKEN);
        assert_non_null(record.extent.complaint);
        assert_int_equal(record.extent.size, strcspn(TEXTS[i], "\n") + 1);
    }
}

/* As a reader of samples promises its columns: none that another reader of the same record refuses. */
static void a_record_has_4096_fields_and_no_more(void **state)
{
    WEIR_AUTO_BUF text = {0};
    struct weir_csv_extent extent;

    (void)state;
    for (int i = 1; i < WEIR_CSV_FIELDS_MAX; i++)
        weir_buf_append_text(&text, "1,");
    weir_buf_append_text(&text, "1\n");
    assert_int_equal(weir_csv_read(weir_buf_view(&text), WEIR_CSV_COMMAS, true, &record),
                     WEIR_CSV_RECORD);
    assert_int_equal(record.count, WEIR_CSV_FIELDS_MAX);
    text.size--;
    weir_buf_append_text(&text, ",1\nnext\n");
    assert_int_equal(weir_csv_read(weir_buf_view(&text), WEIR_CSV_COMMAS, true, &record),
                     WEIR_CSV_BROKEN);
    assert_int_equal(weir_csv_measure(weir_buf_view(&text), WEIR_CSV_COMMAS, true, &extent),
                     WEIR_CSV_BROKEN);
    assert_string_equal(extent.complaint, "found more than 4096 fields, expected fewer");
    assert_int_equal(extent.size, text.size - strlen("next\n"));
}

static void stray_quotes_are_characters_where_the_dialect_allows_them(void **state)
{
    const struct weir_csv_dialect lenient = {.delimiter = ',', .allows_stray_quotes = true};

    (void)state;
    assert_int_equal(weir_csv_read(weir_bytes_of("5\" pipe,a\"\"b,\"c\""), lenient, true, &record),
                     WEIR_CSV_RECORD);
    assert_int_equal(record.count, 3);
    assert_int_equal(record.fields[0].raw.size, strlen("5\" pipe"));
    assert_int_equal(record.fields[1].raw.size, strlen("a\"\"b"));
    assert_int_equal(record.fields[2].raw.size, 1);
    assert_int_equal(weir_csv_read(weir_bytes_of("x\""), lenient, true, &record), WEIR_CSV_RECORD);
    assert_int_equal(weir_csv_read(weir_bytes_of("\"a\"b"), lenient, true, &record),
                     WEIR_CSV_BROKEN);
}

static void columns_are_found_by_name(void **state)
{
    (void)state;
    assert_int_equal(weir_csv_read(weir_bytes_of("path,time\n"), WEIR_CSV_COMMAS, true, &record),
                     WEIR_CSV_RECORD);
    assert_int_equal(weir_csv_find(&record, "time", 0), 1);
    assert_int_equal(weir_csv_find(&record, "tim", 0), -1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(records_fall_into_fields),
        cmocka_unit_test(fields_may_be_of_any_length),
        cmocka_unit_test(a_cut_record_asks_for_more),
        cmocka_unit_test(a_broken_record_gives_up_its_first_line_only),
        cmocka_unit_test(a_record_has_4096_fields_and_no_more),
        cmocka_unit_test(stray_quotes_are_characters_where_the_dialect_allows_them),
        cmocka_unit_test(columns_are_found_by_name),
    };
    return cmocka_run_group_tests_name("base: csv", tests, NULL, NULL);
}
