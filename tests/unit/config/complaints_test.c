/* Complaints about one file: all of them, each once, in the order of their places. */
#include "core/config/complaints.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

static void note(struct cfg_complaints *complaints, enum weir_status status, const char *text)
{
    struct weir_error err;
    assert_int_equal(weir_fail(&err, status, "%s", text), status);
    assert_false(cfg_note(complaints, status, &err));
}

static void each_line_is_kept_once(void **unused)
{
    (void)unused;
    CFG_AUTO_COMPLAINTS complaints = {0};
    struct weir_error err;
    assert_true(cfg_note(&complaints, WEIR_OK, NULL));
    note(&complaints, WEIR_NOT_FOUND, "f:1:1: one\nf:2:1: two");
    note(&complaints, WEIR_INVALID, "f:2:1: two\nf:3:1: three\nf:3:1: thr");
    assert_string_equal(weir_buf_text(&complaints.lines),
                        "f:1:1: one\nf:2:1: two\nf:3:1: three\nf:3:1: thr\n");
    assert_int_equal(cfg_complaints_end(&complaints, &err), WEIR_NOT_FOUND);
    assert_string_equal(err.text, "f:1:1: one\nf:2:1: two\nf:3:1: three\nf:3:1: thr");
}

static void they_are_sorted_by_place_and_those_without_one_stay_behind_their_line(void **unused)
{
    (void)unused;
    CFG_AUTO_COMPLAINTS complaints = {0};
    note(&complaints, WEIR_INVALID, "trainer refuses the file");
    note(&complaints, WEIR_INVALID, "a:b.yaml:10:2: late\n… and 1 more\na:b.yaml:9:30: b");
    note(&complaints, WEIR_INVALID, "a:b.yaml:9:4: a\na:b.yaml:9:4: again");
    cfg_complaints_sort(&complaints, "a:b.yaml");
    assert_string_equal(weir_buf_text(&complaints.lines),
                        "trainer refuses the file\na:b.yaml:9:4: a\na:b.yaml:9:4: again\n"
                        "a:b.yaml:9:30: b\na:b.yaml:10:2: late\n… and 1 more\n");
}

static void an_error_holds_whole_lines_and_says_that_there_are_more(void **unused)
{
    (void)unused;
    CFG_AUTO_COMPLAINTS complaints = {0};
    struct weir_error err;
    for (int i = 0; i < 100; i++) {
        char line[64];
        (void)snprintf(line, sizeof(line), "f.yaml:%d:1: this is wrong", i);
        note(&complaints, WEIR_INVALID, line);
    }
    assert_int_equal(cfg_complaints_end(&complaints, &err), WEIR_INVALID);
    assert_true(strlen(err.text) > WEIR_ERROR_TEXT_MAX / 2);
    assert_non_null(strstr(err.text, "this is wrong\n… and more"));
    char size[WEIR_ERROR_TEXT_MAX + 100];
    memset(size, 'x', sizeof(size) - 1);
    size[sizeof(size) - 1] = '\0';
    CFG_AUTO_COMPLAINTS large = {0};
    cfg_note_text(&large, WEIR_LIMIT, size);
    assert_int_equal(cfg_complaints_end(&large, &err), WEIR_LIMIT);
    assert_true(strlen(err.text) > 0);
}

static void of_very_many_the_first_are_kept_and_the_others_counted(void **unused)
{
    (void)unused;
    enum { COUNT = 20000 };
    CFG_AUTO_COMPLAINTS complaints = {0};
    for (int i = COUNT; i > 0; i--) {
        char line[64];
        (void)snprintf(line, sizeof(line), "f.yaml:%d:1: this is wrong", i);
        note(&complaints, WEIR_INVALID, line);
        note(&complaints, WEIR_INVALID, "f.yaml:20000:1: this is wrong");
    }
    cfg_complaints_sort(&complaints, "f.yaml");
    const char *text = weir_buf_text(&complaints.lines);
    assert_in_range(complaints.lines.size, CFG_COMPLAINTS_BYTES, CFG_COMPLAINTS_BYTES + 100);
    size_t kept = 0;
    for (const char *at = text; (at = strstr(at, "wrong\n")) != NULL; at++)
        kept++;
    char first[64], end[96];
    (void)snprintf(first, sizeof(first), "f.yaml:%zu:1: ", COUNT - kept + 1);
    (void)snprintf(end, sizeof(end), "f.yaml:20000:1: this is wrong\n… and %zu more\n",
                   COUNT - kept);
    assert_int_equal(strncmp(text, first, strlen(first)), 0);
    assert_string_equal(text + complaints.lines.size - strlen(end), end);
}

static void a_line_about_a_place_is_one_line_however_long_and_may_be_a_remark(void **unused)
{
    (void)unused;
    CFG_AUTO_COMPLAINTS complaints = {0};
    WEIR_AUTO(weir_yaml) document = NULL;
    struct weir_error err;
    char value[2 * WEIR_ERROR_TEXT_MAX];
    memset(value, 'x', sizeof(value) - 1);
    value[sizeof(value) - 1] = '\0';
    assert_int_equal(weir_yaml_parse("f.yaml", weir_bytes_of("a: b"), &document, &err), WEIR_OK);
    const struct weir_yaml_node *node = weir_yaml_get(weir_yaml_root(document), "a");
    cfg_note_at(&complaints, WEIR_OK, node, "found '%s'\nand more", value);
    assert_int_equal(complaints.status, WEIR_OK);
    assert_int_equal(complaints.lines.size,
                     strlen("f.yaml:1:4: found ''\nand more\n") + strlen(value));
    assert_int_equal(complaints.lines.at[complaints.lines.size - 10], ' ');
    cfg_note_at(&complaints, WEIR_INVALID, node, "wrong");
    assert_int_equal(complaints.status, WEIR_INVALID);
}

static void reasons_are_of_one_kind_up_to_the_value_that_was_found(void **unused)
{
    (void)unused;
    assert_int_equal(cfg_reason_kind("column 'x': found 'NA', expected a number"),
                     strlen("column 'x': found "));
    assert_int_equal(cfg_reason_kind("found 7 fields, expected 6"), strlen("found "));
    assert_int_equal(cfg_reason_kind("label: found none, expected one"),
                     strlen("label: found none, expected one"));
    assert_int_equal(cfg_reason_kind("it is broken"), strlen("it is broken"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_line_is_kept_once),
        cmocka_unit_test(they_are_sorted_by_place_and_those_without_one_stay_behind_their_line),
        cmocka_unit_test(an_error_holds_whole_lines_and_says_that_there_are_more),
        cmocka_unit_test(of_very_many_the_first_are_kept_and_the_others_counted),
        cmocka_unit_test(a_line_about_a_place_is_one_line_however_long_and_may_be_a_remark),
        cmocka_unit_test(reasons_are_of_one_kind_up_to_the_value_that_was_found),
    };
    return cmocka_run_group_tests_name("complaints", tests, NULL, NULL);
}
