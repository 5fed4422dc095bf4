/* Cutting input: after whole records, however it arrives. */
#include "cli/cut.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

struct example {
    const char *format, *text;
    size_t first, last; /* where the first and the last whole record end */
};

static const struct example EXAMPLES[] = {
    {"jsonl", "", 0, 0},
    {"jsonl", "{\"a\":1}", 0, 0},
    {"jsonl", "{}\n{\"a\":\"\\n\"}\n{", 3, 14},
    {"csv", "a,b\n1,2\n3", 4, 8},
    {"csv", "a,b\n\"x\ny\",2\n\"open\n\n", 4, 12},
    {"csv", "a\n\"he said \"\"no\n\"\"\"\nrest", 2, 20},
    {"csv", "a\n5\" pipe\n\"q\"\"\n", 2, 10},
    {"csv", "\"a\nb\",c\r\n\"\",\"\"\r\n", 9, 16},
    {"binary", "12345678ab", 4, 8},
    {"binary", "123", 0, 0},
};

static struct cli_cut cut_for(const struct example *example)
{
    const struct cli_cut_format format = {
        .name = example->format, .record_bytes = 4, .delimiter = ","};
    struct cli_cut cut;
    struct weir_error err;
    assert_int_equal(cli_cut_init(&cut, &format, &err), WEIR_OK);
    return cut;
}

static void records_end_where_their_format_says(void **state)
{
    (void)state;
    for (size_t i = 0; i < WEIR_COUNT(EXAMPLES); i++) {
        struct cli_cut cut = cut_for(&EXAMPLES[i]);
        cli_cut_scan(&cut, weir_bytes_of(EXAMPLES[i].text));
        if (cut.first != EXAMPLES[i].first || cut.last != EXAMPLES[i].last)
            fail_msg("%s: first %zu, last %zu", EXAMPLES[i].text, cut.first, cut.last);
    }
}

static void pieces_are_cut_like_the_whole(void **state)
{
    (void)state;
    for (size_t i = 0; i < WEIR_COUNT(EXAMPLES); i++) {
        size_t size = strlen(EXAMPLES[i].text);
        for (size_t step = 1; step <= size; step++) {
            struct cli_cut cut = cut_for(&EXAMPLES[i]);
            for (size_t at = 0; at < size; at += step)
                cli_cut_scan(&cut,
                             weir_bytes(EXAMPLES[i].text, at + step < size ? at + step : size));
            assert_int_equal(cut.first, EXAMPLES[i].first);
            assert_int_equal(cut.last, EXAMPLES[i].last);
        }
    }
}

static void another_delimiter_opens_fields(void **state)
{
    const struct cli_cut_format format = {.name = "csv", .delimiter = "\\t"};
    struct cli_cut cut;
    struct weir_error err;
    (void)state;
    assert_int_equal(cli_cut_init(&cut, &format, &err), WEIR_OK);
    cli_cut_scan(&cut, weir_bytes_of("a\t\"b\nc\"\n1,\"2\n"));
    assert_int_equal(cut.first, 8);
    assert_int_equal(cut.last, 13);
}

static void a_quote_may_be_a_character_like_any_other(void **state)
{
    const struct cli_cut_format format = {.name = "csv", .delimiter = ",", .is_unquoted = true};
    struct cli_cut cut;
    struct weir_error err;
    (void)state;
    assert_int_equal(cli_cut_init(&cut, &format, &err), WEIR_OK);
    cli_cut_scan(&cut, weir_bytes_of("a,\"b\nc,d\n"));
    assert_int_equal(cut.first, 5);
    assert_int_equal(cut.last, 9);
}

static void a_format_that_cannot_be_cut_is_refused(void **state)
{
    const struct cli_cut_format format = {.name = "tar", .delimiter = ","};
    struct cli_cut cut;
    struct weir_error err;
    (void)state;
    assert_int_equal(cli_cut_init(&cut, &format, &err), WEIR_UNSUPPORTED);
    assert_non_null(strstr(err.text, "'tar'"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(records_end_where_their_format_says),
        cmocka_unit_test(pieces_are_cut_like_the_whole),
        cmocka_unit_test(another_delimiter_opens_fields),
        cmocka_unit_test(a_quote_may_be_a_character_like_any_other),
        cmocka_unit_test(a_format_that_cannot_be_cut_is_refused),
    };
    return cmocka_run_group_tests_name("cli: cuts", tests, NULL, NULL);
}
