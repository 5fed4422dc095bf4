/* Pictures of characters: what a value looks like, what fits, and what no number or name can do. */
#include "cli/columns.h"
#include "cli/plot.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

static void assert_line(struct cli_page page, const struct cli_plot_line *line, const char *text)
{
    WEIR_AUTO_BUF out = {0};
    page.out = &out;
    cli_plot_line(&page, line);
    assert_string_equal(weir_buf_text(&out), text);
}

static void assert_grid(struct cli_page page, const struct cli_plot_grid *grid, const char *text)
{
    WEIR_AUTO_BUF out = {0};
    page.out = &out;
    cli_plot_grid(&page, grid);
    assert_string_equal(weir_buf_text(&out), text);
}

#define BLOCKS(columns) ((struct cli_page){.blocks = true, .width = (columns)})
#define PLAIN(columns)  ((struct cli_page){.width = (columns)})

static void a_line_is_a_block_per_value_and_says_from_where_to_where(void **state)
{
    static const double VALUES[] = {0, 1, 2, 3, 4, 5, 6, 7, 3.5};
    const struct cli_plot_line line = {"rmse", VALUES, WEIR_COUNT(VALUES), .limit = (double)NAN};
    (void)state;
    assert_line(BLOCKS(80), &line, "rmse              ▁▂▃▄▅▆▇█▅  0 to 7, newest 3.5\n");
    assert_line(PLAIN(0), &line, "rmse              0 to 7, newest 3.5\n");
}

static void a_line_shows_its_limit_and_what_fired(void **state)
{
    static const double VALUES[] = {0.1, 0.1, 0.4, 0.1, 0.3};
    static const bool FIRED[] = {false, false, true, false, false};
    const struct cli_plot_line line = {"ks", VALUES, WEIR_COUNT(VALUES), 0.2, FIRED};
    const struct cli_plot_line high = {"ks", VALUES, WEIR_COUNT(VALUES), 0.6, .marks = NULL};
    (void)state;
    assert_line(BLOCKS(80), &line,
                "ks                ▁▁█▁▆  0.1 to 0.4, newest 0.3, limit 0.2 (▃), 1 fired\n"
                "                    ▲\n");
    assert_line(PLAIN(80), &line, "ks                0.1 to 0.4, newest 0.3, limit 0.2, 1 fired\n");
    assert_line(BLOCKS(80), &high,
                "ks                ▁▁▅▁▄  0.1 to 0.4, newest 0.3, limit 0.6 (█)\n");
}

static void values_that_are_one_equal_or_none_are_a_line_too(void **state)
{
    static const double SAME[] = {0.5, 0.5, 0.5},
                        HOLES[] = {(double)NAN, 1, (double)NAN, 2, (double)NAN};
    const double none = (double)NAN;
    (void)state;
    assert_line(BLOCKS(80), &(struct cli_plot_line){"a", SAME, 0, none, NULL}, "");
    assert_line(BLOCKS(80), &(struct cli_plot_line){"a", SAME, 1, none, NULL},
                "a                 ▅  0.5\n");
    assert_line(BLOCKS(80), &(struct cli_plot_line){"a", SAME, 3, none, NULL},
                "a                 ▅▅▅  0.5\n");
    assert_line(BLOCKS(80), &(struct cli_plot_line){"a", HOLES, 5, none, NULL},
                "a                  ▁ █   1 to 2, newest 2\n");
    assert_line(BLOCKS(80), &(struct cli_plot_line){"a", HOLES, 1, none, NULL},
                "a                    no value\n");
}

static void values_may_be_as_large_and_as_far_apart_as_numbers_are(void **state)
{
    static const double VALUES[] = {-1.7e308, 0, 1.7e308};
    const struct cli_plot_line line = {"mse", VALUES, WEIR_COUNT(VALUES), -1.7e308, NULL};
    double pairs[26];
    const struct cli_plot_line folded = {"mse", pairs, WEIR_COUNT(pairs), (double)NAN, NULL};
    (void)state;
    for (size_t i = 0; i < WEIR_COUNT(pairs); i++)
        pairs[i] = i / 2 % 2 == 0 ? -1.7e308 : 1.7e308;
    assert_line(BLOCKS(100), &line,
                "mse               ▁▅█  -1.7e+308 to 1.7e+308, newest 1.7e+308, "
                "limit -1.7e+308 (▁)\n");
    assert_line(BLOCKS(20), &folded,
                "mse    ▁█▁█▁█▁█▁█▁█▁\n"
                "  -1.7e+308 to 1.7e…\n");
}

static void a_line_that_has_no_room_beside_its_facts_has_them_below(void **state)
{
    static const double VALUES[] = {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14};
    static const bool FIRED[WEIR_COUNT(VALUES)] = {[13] = true};
    const struct cli_plot_line line = {"a name that is long", VALUES, WEIR_COUNT(VALUES), 14,
                                       FIRED};
    (void)state;
    assert_line(BLOCKS(40), &line,
                "a name th…  ▁▂▂▃▃▄▄▅▅▆▆▇▇█\n"
                "                         ▲\n"
                "  1 to 14, newest 14, limit 14 (█), 1 f…\n");
    assert_line(BLOCKS(20), &line,
                "a na…  ▁▂▂▃▃▄▄▅▅▆▆▇█\n"
                "                   ▲\n"
                "  1 to 14, newest 1…\n");
}

static const char *const ROWS[] = {"trigger 1", "trigger 2"};
static const char *const MONTHS[] = {"2002-01-01", "2002-02-01", "2002-03-01", "2002-04-01"};

static void a_grid_has_blocks_and_digits_where_they_fit(void **state)
{
    static const double VALUES[] = {0.5, 0.75, 0.875, (double)NAN, (double)NAN, 1, 0.9996, -0.25};
    static const bool SERVED[] = {true, false, false, false, false, true, false, false};
    const struct cli_plot_grid grid = {ROWS, 2, MONTHS, 4, VALUES, SERVED};
    (void)state;
    assert_grid(BLOCKS(80), &grid,
                "           2002-01-01    2002-03-01\n"
                "trigger 1  ▅ .500*▇ .750 ▇ .875\n"
                "trigger 2         █ 1.00*█ 1.00 ▁-.250\n");
    assert_grid(PLAIN(80), &grid,
                "           2002-01-01  2002-03-01\n"
                "trigger 1   .500* .750  .875\n"
                "trigger 2         1.00* 1.00 -.250\n");
}

static void a_grid_that_is_wider_than_the_terminal_has_blocks_alone(void **state)
{
    static const double VALUES[] = {0.5, 0.75, 0.875, (double)NAN, (double)NAN, 1, 0.99, 0.25};
    const struct cli_plot_grid grid = {ROWS, 2, MONTHS, 4, VALUES, NULL};
    (void)state;
    assert_grid(BLOCKS(32), &grid,
                "           2002-01-01\n"
                "trigger 1  ▃▆▇\n"
                "trigger 2   ██▁\n"
                "▁ 0.25 to █ 1\n");
    assert_grid(PLAIN(32), &grid,
                "           2002-01-01\n"
                "trigger 1  .500 .750 .875\n"
                "trigger 2       1.00 .990 .250\n");
    assert_grid(PLAIN(20), &grid,
                "        2002-01-01\n"
                "trigg~  .625 .875\n"
                "trigg~  1.00 .620\n"
                "a column is the mea~\n");
}

static void a_grid_of_equal_values_or_of_none_is_one_too(void **state)
{
    static const double SAME[] = {0.5, 0.5}, NONE[] = {(double)NAN, (double)NAN};
    (void)state;
    assert_grid(BLOCKS(80), &(struct cli_plot_grid){ROWS, 0, MONTHS, 2, SAME, NULL}, "");
    assert_grid(BLOCKS(80), &(struct cli_plot_grid){ROWS, 2, MONTHS, 0, SAME, NULL}, "");
    assert_grid(BLOCKS(80), &(struct cli_plot_grid){ROWS, 1, MONTHS, 1, SAME, NULL},
                "           2002-01-01\n"
                "trigger 1  ▅.500\n");
    assert_grid(BLOCKS(80), &(struct cli_plot_grid){ROWS, 1, MONTHS, 2, SAME, NULL},
                "           2002-01-01\n"
                "trigger 1  ▅.500 ▅.500\n");
    assert_grid(BLOCKS(80), &(struct cli_plot_grid){ROWS, 1, MONTHS, 2, NONE, NULL},
                "           2002-01-01\n"
                "trigger 1\n");
}

static void digits_are_three_or_the_whole_number(void **state)
{
    static const struct {
        double value;
        const char *text;
    } CASES[] = {{0, ".000"},        {0.9994, ".999"},  {0.9996, "1.00"},    {9.994, "9.99"},
                 {9.996, "10.0"},    {99.96, "100"},    {99999, "99999"},    {123456, "1e+05"},
                 {-0.0004, "-.000"}, {-12.34, "-12.3"}, {-1e300, "-1e+300"}, {1e-9, ".000"}};
    (void)state;
    for (size_t i = 0; i < WEIR_COUNT(CASES); i++) {
        WEIR_AUTO_BUF expected = {0};
        weir_buf_printf(&expected, "           2002-01-01\ntrigger 1  %s\n", CASES[i].text);
        assert_grid(PLAIN(80), &(struct cli_plot_grid){ROWS, 1, MONTHS, 1, &CASES[i].value, NULL},
                    weir_buf_text(&expected));
    }
}

static void names_do_nothing_to_the_terminal_and_take_no_more_than_their_room(void **state)
{
    static const char *const NAMES[] = {"\033[2J\u202enew\xc2\x9b line\n that is very long"};
    static const char *const TITLES[] = {"\a2002"};
    static const double VALUES[] = {0.5};
    (void)state;
    assert_grid(BLOCKS(30), &(struct cli_plot_grid){NAMES, 1, TITLES, 1, VALUES, NULL},
                "             2002\n"
                " [2J   ne…  ▅.500\n");
    assert_line(BLOCKS(64), &(struct cli_plot_line){NAMES[0], VALUES, 1, (double)NAN, NULL},
                " [2J   new   li…  ▅  0.5\n");
}

/* Every width with every count: the longest line, in columns. */
static size_t widest_line(const char *text)
{
    size_t widest = 0;
    for (size_t length; *text != '\0'; text += length + (text[length] == '\n')) {
        length = strcspn(text, "\n");
        WEIR_AUTO_BUF line = {0};
        weir_buf_append(&line, text, length);
        size_t width = cli_width_of(weir_buf_text(&line));
        widest = width > widest ? width : widest;
    }
    return widest;
}

static void nothing_is_wider_than_the_terminal(void **state)
{
    static const char *const WIDE_ROWS[] = {"新聞", "名前は他のものより長い名前は他のものより長い"};
    enum { COUNT = 1000, WIDEST = 200 };
    static double values[2 * COUNT];
    static bool marks[2 * COUNT];
    static const char *titles[COUNT];
    (void)state;
    for (size_t i = 0; i < WEIR_COUNT(values); i++) {
        values[i] = i % 7 == 0 ? (double)NAN : sin((double)i) * 1e4;
        marks[i] = i % 5 == 0;
        titles[i / 2] = "2002-01-01 12:30";
    }
    for (size_t width = 20; width <= WIDEST; width += 9)
        for (size_t count = 1; count <= COUNT; count *= 10)
            for (int blocks = 0; blocks < 2; blocks++) {
                WEIR_AUTO_BUF out = {0};
                struct cli_page page = {.out = &out, .blocks = blocks == 1, .width = width};
                cli_plot_line(&page, &(struct cli_plot_line){"a name that is longer than others",
                                                             values, count, 2, marks});
                cli_plot_line(&page, &(struct cli_plot_line){"名前は他のものより長い 🚀🚀🚀", values,
                                                             count, 2, marks});
                cli_plot_grid(&page,
                              &(struct cli_plot_grid){ROWS, 2, titles, count, values, marks});
                cli_plot_grid(&page,
                              &(struct cli_plot_grid){WIDE_ROWS, 2, titles, count, values, marks});
                assert_in_range(widest_line(weir_buf_text(&out)), 1, width);
            }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_line_is_a_block_per_value_and_says_from_where_to_where),
        cmocka_unit_test(a_line_shows_its_limit_and_what_fired),
        cmocka_unit_test(values_that_are_one_equal_or_none_are_a_line_too),
        cmocka_unit_test(values_may_be_as_large_and_as_far_apart_as_numbers_are),
        cmocka_unit_test(a_line_that_has_no_room_beside_its_facts_has_them_below),
        cmocka_unit_test(a_grid_has_blocks_and_digits_where_they_fit),
        cmocka_unit_test(a_grid_that_is_wider_than_the_terminal_has_blocks_alone),
        cmocka_unit_test(a_grid_of_equal_values_or_of_none_is_one_too),
        cmocka_unit_test(digits_are_three_or_the_whole_number),
        cmocka_unit_test(names_do_nothing_to_the_terminal_and_take_no_more_than_their_room),
        cmocka_unit_test(nothing_is_wider_than_the_terminal),
    };
    return cmocka_run_group_tests_name("cli plot", tests, NULL, NULL);
}
