/* Columns as a check shows them, and operators as far as it tries them. */
#include "preprocess/preview/values.h"
#include "tests/support/chain.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

static void expect_shown(const struct column *column, const char *expected)
{
    WEIR_AUTO_BUF shown = {0};
    preprocess_value_print(column, 0, &shown);
    assert_string_equal(weir_buf_text(&shown), expected);
}

static void expect_bytes_shown(const char *bytes, size_t size, const char *expected)
{
    struct column column = {.about = preprocess_column_about("payload", COLUMN_BYTES, 0, 0)};
    preprocess_column_begin(&column);
    weir_buf_append(&column.values, bytes, size);
    preprocess_column_end_row(&column);
    expect_shown(&column, expected);
    preprocess_column_fini(&column);
}

static void bytes_are_shown_as_text_where_they_are_some(void **state)
{
    (void)state;
    expect_bytes_shown("a\tb\n", 4, "\"a b \"");
    expect_bytes_shown("Gr\xc3\xbc\xc3\x9f", 6, "\"Gr\xc3\xbc\xc3\x9f\"");
    expect_bytes_shown("Gr\xfc\xdf", 4, "4 bytes: 47 72 fc df");
    expect_bytes_shown("\0\1\2\3\4\5\6\7\10", 9, "9 bytes: 00 01 02 03 04 05 06 07 …");
    expect_bytes_shown("", 0, "\"\"");
}

static void a_long_text_is_cut_off_between_two_characters(void **state)
{
    char text[100], expected[100];
    (void)state;
    memset(text, 'x', sizeof(text));
    memcpy(text + 59, "\xc3\xbc", 2);
    snprintf(expected, sizeof(expected), "\"%.61s…\"", text);
    expect_bytes_shown(text, sizeof(text), expected);
}

static void numbers_are_shown_with_their_type_and_their_count(void **state)
{
    const float values[] = {1, 0.5f, -3, 4, 5, 6, 7, 8, 9};
    struct column column = {.about = preprocess_column_about("x", COLUMN_DENSE, WEIR_F32, 3)};
    (void)state;
    preprocess_column_begin(&column);
    weir_buf_append(&column.values, values, sizeof(values));
    expect_shown(&column, "[1, 0.5, -3] f32 x 3");
    column.about.width = 9;
    expect_shown(&column, "[1, 0.5, -3, 4, 5, 6, 7, 8, …] f32 x 9");
    preprocess_column_fini(&column);
}

/* ---- the chain as a check walks it ---- */

static void note_step(void *owner, const struct chain_seen *seen)
{
    weir_buf_printf(owner, "%s(%s)=", seen->name, seen->in->about.name);
    preprocess_value_print(&seen->made[0], 0, owner);
    weir_buf_append_text(owner, ";");
}

static void what_each_operator_made_can_be_looked_at_as_far_as_they_ran(void **state)
{
    const struct weir_bytes row = weir_bytes_of("a bb");
    struct test_chain test;
    WEIR_AUTO_BUF steps = {0};
    (void)state;
    test_chain_open(&test, "[{op: tokenize_words}, {op: vocab}]");
    test_chain_fit(&test, &row, 1);
    test_chain_run(&test, &row, 1);
    preprocess_chain_walk(test.chain, note_step, &steps);
    assert_string_equal(
        weir_buf_text(&steps),
        "tokenize_words(payload)=[\"a\", \"bb\"] 2 words;vocab(words)=[1, 2] i32 x 2;");
    weir_buf_clear(&steps);
    preprocess_chain_stop_before(test.chain, 2); /* a vocabulary is fitted: not behind it either */
    test_chain_run(&test, &row, 1);
    preprocess_chain_walk(test.chain, note_step, &steps);
    assert_string_equal(weir_buf_text(&steps), "tokenize_words(payload)=[\"a\", \"bb\"] 2 words;");
    test_chain_close(&test);
}

static void operators_that_read_records_are_all_checked_in_one_round(void **state)
{
    static const char *const NAMES[] = {"x", "y"};
    const struct operator_records records = {
        .dataset = "d", .dialect = {.delimiter = ","}, .columns = NAMES, .column_count = 2};
    CFG_AUTO_COMPLAINTS all = {0};
    WEIR_AUTO(weir_yaml) document = NULL;
    WEIR_AUTO(chain) chain = NULL;
    struct weir_error err;
    (void)state;
    assert_int_equal(weir_yaml_parse("p.yaml",
                                     weir_bytes_of("- {op: csv_fields, fields: [z], as: a}\n"
                                                   "- {op: csv_fields, fields: [x, v, w], as: b}\n"
                                                   "- {op: clamp, on: a, min: 0, max: 1}\n"
                                                   "- {op: csv_words, fields: [u], as: c}\n"),
                                     &document, &err),
                     WEIR_OK);
    assert_false(preprocess_chain_check(weir_yaml_root(document), &records, &chain, &all));
    assert_null(chain);
    const char *said = weir_buf_text(&all.lines);
    assert_non_null(strstr(said, "p.yaml:1:3: preprocess.operators: csv_fields: found field 'z'"));
    assert_non_null(
        strstr(said, "p.yaml:2:3: preprocess.operators: csv_fields: found fields 'v', 'w'"));
    assert_non_null(strstr(said, "p.yaml:4:3: preprocess.operators: csv_words: found field 'u'"));
    assert_null(strstr(said, "clamp"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(bytes_are_shown_as_text_where_they_are_some),
        cmocka_unit_test(a_long_text_is_cut_off_between_two_characters),
        cmocka_unit_test(numbers_are_shown_with_their_type_and_their_count),
        cmocka_unit_test(what_each_operator_made_can_be_looked_at_as_far_as_they_ran),
        cmocka_unit_test(operators_that_read_records_are_all_checked_in_one_round),
    };
    return cmocka_run_group_tests_name("preview", tests, NULL, NULL);
}
