/* Short values, aligned tables, and text that a terminal must not obey. */
#include "cli/columns.h"
#include "cli/page.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

static void counts_have_their_thousands_apart(void **state)
{
    static const struct {
        int64_t count;
        const char *text;
    } CASES[] = {{0, "0"},          {999, "999"},
                 {1000, "1,000"},   {1234567, "1,234,567"},
                 {-1000, "-1,000"}, {INT64_MIN, "-9,223,372,036,854,775,808"}};
    (void)state;
    for (size_t i = 0; i < WEIR_COUNT(CASES); i++) {
        WEIR_AUTO_BUF out = {0};
        cli_put_count(&out, CASES[i].count);
        assert_string_equal(weir_buf_text(&out), CASES[i].text);
    }
}

static void bytes_take_the_unit_that_suits_them(void **state)
{
    static const struct {
        double bytes;
        const char *text;
    } CASES[] = {{0, "0 B"},           {999, "999 B"},     {1000, "1.0 kB"}, {1234567, "1.2 MB"},
                 {999949, "999.9 kB"}, {999960, "1.0 MB"}, {5e12, "5.0 TB"}, {5e19, "50000.0 PB"}};
    (void)state;
    for (size_t i = 0; i < WEIR_COUNT(CASES); i++) {
        WEIR_AUTO_BUF out = {0};
        cli_put_bytes(&out, CASES[i].bytes);
        assert_string_equal(weir_buf_text(&out), CASES[i].text);
    }
}

static void times_are_cut_to_what_they_say(void **state)
{
    static const struct {
        const char *time, *text;
    } CASES[] = {{"2002-08-22T11:36:23Z", "2002-08-22 11:36"},
                 {"2002-08-22T11:36:23.123456Z", "2002-08-22 11:36"},
                 {"2002-09-01T00:00:00Z", "2002-09-01"},
                 {"", "-"},
                 {"never", "never"}};
    (void)state;
    for (size_t i = 0; i < WEIR_COUNT(CASES); i++) {
        WEIR_AUTO_BUF out = {0};
        cli_put_time(&out, CASES[i].time);
        assert_string_equal(weir_buf_text(&out), CASES[i].text);
    }
}

static void durations_get_coarser_as_they_grow(void **state)
{
    static const struct {
        double seconds;
        const char *text;
    } CASES[] = {
        {0.25, "0.2 s"}, {59, "59.0 s"}, {90, "2 min"}, {5400, "1.5 h"}, {129600, "1.5 d"}};
    (void)state;
    for (size_t i = 0; i < WEIR_COUNT(CASES); i++) {
        WEIR_AUTO_BUF out = {0};
        cli_put_duration(&out, CASES[i].seconds);
        assert_string_equal(weir_buf_text(&out), CASES[i].text);
    }
}

static const struct cli_column COLUMNS[] = {
    {"name", CLI_TEXT, .key = "name"},
    {"n", CLI_COUNT, .key = "n"},
    {"note", CLI_TEXT, .key = "note"},
};

/* The table of a JSON array as text. */
static void show(struct cli_page *page, const char *rows, const struct cli_column *columns,
                 size_t count)
{
    json_t *array = json_loads(rows, 0, NULL);
    assert_non_null(array);
    cli_show_table(page, array, columns, count);
    json_decref(array);
}

/* "é": two bytes, one character */
static const char ROWS[] = "[{\"name\":\"é\",\"n\":12345,\"note\":\"\"},"
                           "{\"name\":\"longer name\",\"n\":7,\"note\":\"x\"}]";

static void columns_are_as_wide_as_their_widest_cell(void **state)
{
    WEIR_AUTO_BUF out = {0};
    struct cli_page page = {.out = &out};
    (void)state;
    show(&page, ROWS, COLUMNS, WEIR_COUNT(COLUMNS));
    assert_string_equal(weir_buf_text(&out), "name              n  note\n"
                                             "é            12,345\n"
                                             "longer name       7  x\n");
}

static void wide_characters_take_two_columns_and_marks_none(void **state)
{
    static const struct {
        const char *text;
        size_t columns;
    } CASES[] = {{"", 0},
                 {"abc", 3},
                 {"é", 1},
                 {"e\u0301", 1},
                 {"新聞", 4},
                 {"뉴스", 4},
                 {"ニ", 2},
                 {"ﾆ", 1},
                 {"🚀", 2},
                 {"✓", 1},
                 {"Ａ", 2},
                 {"𠀀", 2},
                 {"\xff\xe6\x96", 3},
                 {"か\u3099", 2}};
    WEIR_AUTO_BUF out = {0};
    struct cli_page page = {.out = &out};
    (void)state;
    for (size_t i = 0; i < WEIR_COUNT(CASES); i++)
        assert_int_equal(cli_width_of(CASES[i].text), CASES[i].columns);
    show(&page, "[{\"name\":\"新聞\",\"n\":1},{\"name\":\"news\",\"n\":22}]", COLUMNS, 2);
    assert_string_equal(weir_buf_text(&out), "name   n\n新聞   1\nnews  22\n");
}

static void a_text_is_cut_between_characters(void **state)
{
    static const struct {
        size_t columns, taken;
        const char *text;
    } CASES[] = {{6, 6, "新聞紙"}, {5, 5, "新聞…"}, {4, 3, "新…"}, {2, 1, "…"}};
    (void)state;
    for (size_t i = 0; i < WEIR_COUNT(CASES); i++) {
        WEIR_AUTO_BUF out = {0};
        struct cli_page page = {.out = &out, .blocks = true};
        assert_int_equal(cli_put_cut(&page, "新聞紙", CASES[i].columns), CASES[i].taken);
        assert_string_equal(weir_buf_text(&out), CASES[i].text);
    }
}

static void a_table_without_rows_is_not_shown(void **state)
{
    WEIR_AUTO_BUF out = {0};
    struct cli_page page = {.out = &out, .colour = true};
    (void)state;
    show(&page, "[]", COLUMNS, WEIR_COUNT(COLUMNS));
    assert_int_equal(out.size, 0);
}

static void only_titles_are_coloured_and_only_if_asked(void **state)
{
    WEIR_AUTO_BUF out = {0};
    struct cli_page page = {.out = &out, .colour = true};
    (void)state;
    show(&page, ROWS, COLUMNS, WEIR_COUNT(COLUMNS));
    const char *text = weir_buf_text(&out);
    assert_memory_equal(text, "\033[1mname", 8);
    assert_non_null(strstr(text, "\033[0m\n"));
    assert_null(strchr(strstr(text, "\033[0m\n") + 1, '\033'));
}

static void what_files_contain_does_not_reach_the_terminal_raw(void **state)
{
    WEIR_AUTO_BUF out = {0};
    struct cli_page page = {.out = &out};
    (void)state;
    cli_line(&page, "a\033[2Jb\nc");
    cli_pair(&page, "name", "%s", "x\ty");
    show(&page, "[{\"name\":\"q\\r\\nr\"}]", COLUMNS, 1);
    assert_string_equal(weir_buf_text(&out), "a [2Jb c\nname              x y\nname\nq  r\n");
}

static void put_size(struct weir_buf *out, const json_t *row)
{
    weir_buf_printf(out, "%zu members", json_object_size(row));
}

static void a_column_says_how_its_member_is_shown_and_what_stands_for_none(void **state)
{
    static const struct {
        struct cli_column column;
        const char *row, *cell;
    } CASES[] = {
        {{"", CLI_TEXT, .key = "a"}, "{\"a\":\"x\"}", "x"},
        {{"", CLI_TEXT, .key = "a.b.c"}, "{\"a\":{\"b\":{\"c\":\"x\"}}}", "x"},
        {{"", CLI_TEXT, .key = "a.b.c"}, "{\"a\":7}", ""},
        {{"", CLI_TEXT, .key = "a", .absent = "-"}, "{\"a\":\"\"}", "-"},
        {{"", CLI_FLAG, .key = "a"}, "{\"a\":true}", "yes"},
        {{"", CLI_FLAG, .key = "a", .absent = "gone"}, "{\"a\":false}", "gone"},
        {{"", CLI_TIME, .key = "a"}, "{\"a\":\"2002-08-22T11:36:23Z\"}", "2002-08-22 11:36"},
        {{"", CLI_TIME, .key = "a"}, "{\"a\":null}", "-"},
        {{"", CLI_TIME, .key = "a", .absent = "always"}, "{\"a\":null}", "always"},
        {{"", CLI_NUMBER, .key = "a"}, "{\"a\":12345}", "12345"},
        {{"", CLI_NUMBER, .key = "a", .absent = "-"}, "{}", "-"},
        {{"", CLI_COUNT, .key = "a"}, "{\"a\":12345.9}", "12,345"},
        {{"", CLI_COUNT, .key = "a"}, "{\"a\":\"7\"}", "0"},
        {{"", CLI_COUNT, .key = "a", .absent = "-"}, "{\"a\":0}", "0"},
        {{"", CLI_BYTES, .key = "a"}, "{\"a\":1234567}", "1.2 MB"},
        {{"", CLI_REAL, .key = "a"}, "{\"a\":0.25}", "0.25"},
        {{"", CLI_WHOLE, .key = "a"}, "{\"a\":12.75}", "13"},
        {{"", CLI_TENTHS, .key = "a"}, "{\"a\":12.75}", "12.8"},
        {{"", CLI_HUNDREDTHS, .key = "a"}, "{\"a\":12.5}", "12.50"},
        {{"", CLI_HUNDREDTHS, .key = "a", .absent = "-"}, "{\"a\":null}", "-"},
        {{"", CLI_NUMBER, .put = put_size}, "{\"a\":1,\"b\":2}", "2 members"},
    };
    (void)state;
    for (size_t i = 0; i < WEIR_COUNT(CASES); i++) {
        WEIR_AUTO_BUF out = {0}, rows = {0}, expected = {0};
        struct cli_page page = {.out = &out};
        weir_buf_printf(&rows, "[%s]", CASES[i].row);
        weir_buf_printf(&expected, "\n%s\n", CASES[i].cell);
        show(&page, weir_buf_text(&rows), &CASES[i].column, 1);
        assert_string_equal(weir_buf_text(&out), weir_buf_text(&expected));
    }
}

static void a_pair_without_a_value_is_not_shown(void **state)
{
    WEIR_AUTO_BUF out = {0};
    struct cli_page page = {.out = &out};
    (void)state;
    cli_pair_text(&page, "a", "");
    cli_pair_time(&page, "b", "");
    cli_pair_text(&page, "c", "1");
    cli_pair_time(&page, "d", "2002-08-22T11:36:23.5Z");
    assert_string_equal(weir_buf_text(&out),
                        "c                 1\nd                 2002-08-22 11:36:23\n");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(counts_have_their_thousands_apart),
        cmocka_unit_test(bytes_take_the_unit_that_suits_them),
        cmocka_unit_test(times_are_cut_to_what_they_say),
        cmocka_unit_test(durations_get_coarser_as_they_grow),
        cmocka_unit_test(columns_are_as_wide_as_their_widest_cell),
        cmocka_unit_test(wide_characters_take_two_columns_and_marks_none),
        cmocka_unit_test(a_text_is_cut_between_characters),
        cmocka_unit_test(a_table_without_rows_is_not_shown),
        cmocka_unit_test(only_titles_are_coloured_and_only_if_asked),
        cmocka_unit_test(what_files_contain_does_not_reach_the_terminal_raw),
        cmocka_unit_test(a_column_says_how_its_member_is_shown_and_what_stands_for_none),
        cmocka_unit_test(a_pair_without_a_value_is_not_shown),
    };
    return cmocka_run_group_tests_name("cli page", tests, NULL, NULL);
}
