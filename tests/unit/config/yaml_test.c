/* The YAML tree: what is read, where things stand, and what is refused with which words. */
#include "core/base/memory.h"
#include "core/config/yaml.h"
#include "tests/support/temp_dir.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

static struct weir_yaml *parse(const char *text)
{
    struct weir_yaml *document = NULL;
    struct weir_error err;
    if (weir_yaml_parse("f.yaml", weir_bytes_of(text), &document, &err) != WEIR_OK)
        fail_msg("%s", err.text);
    return document;
}

static void broken_files_are_refused_at_their_place(void **state)
{
    static const struct {
        const char *text, *expected;
    } CASES[] = {
        {"a: 1\nb: 2\na: 3\n", "f.yaml:3:1: key 'a' stands in line 1 already"},
        {"x: {b: 1, b: 2}\n", "f.yaml:1:11: key 'b' stands in line 1 already"},
        {"a: b: c\n", "f.yaml:1:5: invalid nested block mapping on the same line"},
        {"a: [1, 2\nb: 3\n", "f.yaml:3:1: flow sequence without a closing bracket"},
        {"a: *b\n", "f.yaml:1:5: aliases (*name) are not supported: write the value out"},
        {"a: !secret b\n", "f.yaml:1:12: tags (!…) are not supported"},
        {"a: !!map {}\n", "f.yaml:1:10: tags (!…) are not supported"},
        {"a\n---\nb\n", "f.yaml:2:1: expected one document, found a second"},
        {"? [x]\n: 2\n", "f.yaml:1:3: expected a word as key"},
        {"~: 2\n", "f.yaml:1:1: expected a word as key"},
        {"a: \"x\\0y\"\n", "f.yaml:1:5: a zero byte is not possible in a text"},
        {"a: 1\r\nb: \xff\n", "f.yaml:2:4: these bytes are not UTF-8 text"},
        {"\xc0\x80", "f.yaml:1:1: these bytes are not UTF-8 text"},
        {"\xed\xa0\x80", "f.yaml:1:1: these bytes are not UTF-8 text"},
        {"a: \xe2\x82", "f.yaml:1:4: these bytes are not UTF-8 text"},
        {"a: \x1b[1m\n", "f.yaml:1:4: a control character is not possible in a text"},
        {"a: 1\n%TAG", "f.yaml:2:1: directives (%YAML, %TAG) are not supported"},
    };
    (void)state;
    for (size_t i = 0; i < WEIR_COUNT(CASES); i++) {
        struct weir_yaml *document = NULL;
        struct weir_error err;
        enum weir_status status =
            weir_yaml_parse("f.yaml", weir_bytes_of(CASES[i].text), &document, &err);
        assert_int_equal(status, WEIR_INVALID);
        assert_string_equal(err.text, CASES[i].expected);
        assert_null(document);
    }
}

static void every_kind_of_damage_is_one_line_with_a_place(void **state)
{
    static const char *const TEXTS[] = {
        "a: [1,\n",
        "a: 'open\n",
        "a:\n\t- b\n",
        "{",
        "- a\nb: c\n",
        "a: \"\\q\"\n",
        "%YAML 9.9\n---\n",
        "\xff\xfe\xfd",
        "a: \x01\n",
        "a: |\n b\n  c\n d:\ne",
        "@",
        "`",
    };
    (void)state;
    for (size_t i = 0; i < WEIR_COUNT(TEXTS); i++) {
        struct weir_yaml *document = NULL;
        struct weir_error err;
        enum weir_status status =
            weir_yaml_parse("f.yaml", weir_bytes_of(TEXTS[i]), &document, &err);
        weir_yaml_free(document);
        if (status == WEIR_OK)
            continue; /* some of these a lenient reader may read */
        assert_int_equal(status, WEIR_INVALID);
        assert_int_equal(strncmp(err.text, "f.yaml:", 7), 0);
        assert_null(strchr(err.text, '\n'));
    }
}

static void nesting_is_bounded(void **state)
{
    WEIR_AUTO_BUF text = {0};
    struct weir_yaml *document = NULL;
    struct weir_error err;
    (void)state;
    for (int i = 0; i < 33; i++)
        weir_buf_append_text(&text, "[");
    for (int i = 0; i < 33; i++)
        weir_buf_append_text(&text, "]");
    assert_int_equal(weir_yaml_parse("f", weir_buf_view(&text), &document, &err), WEIR_INVALID);
    assert_string_equal(err.text, "f:1:33: nested deeper than 32 levels");
}

static void a_file_beyond_the_limit_is_refused(void **state)
{
    WEIR_AUTO_FREE char *text = weir_calloc(1, WEIR_YAML_BYTES_MAX + 1);
    struct weir_yaml *document = NULL;
    struct weir_error err;
    (void)state;
    memset(text, '#', WEIR_YAML_BYTES_MAX + 1);
    assert_int_equal(
        weir_yaml_parse("f", weir_bytes(text, WEIR_YAML_BYTES_MAX + 1), &document, &err),
        WEIR_INVALID);
    assert_string_equal(err.text, "f: 1048577 bytes, at most 1048576 are read");
}

static void the_tree_is_what_was_written(void **state)
{
    WEIR_AUTO(weir_yaml)
    document = parse("b: 1\na: {x: [p, 'q r', \"\"], y: ~}\nc:\nd: |\n  two\n  lines\n");
    const struct weir_yaml_node *root = weir_yaml_root(document);
    (void)state;
    assert_true(weir_yaml_is_mapping(root));
    assert_int_equal(weir_yaml_pairs(root), 4);
    assert_string_equal(weir_yaml_key(root, 0), "b");
    assert_string_equal(weir_yaml_key(root, 1), "a");
    assert_null(weir_yaml_key(root, 4));
    const struct weir_yaml_node *list = weir_yaml_get(weir_yaml_get(root, "a"), "x");
    assert_int_equal(weir_yaml_length(list), 3);
    assert_string_equal(weir_yaml_text(weir_yaml_at(list, 1)), "q r");
    assert_string_equal(weir_yaml_text(weir_yaml_at(list, 2)), "");
    assert_null(weir_yaml_at(list, 3));
    assert_string_equal(weir_yaml_text(weir_yaml_value(root, 3)), "two\nlines\n");
    assert_null(weir_yaml_get(root, "nothing"));
}

static void a_null_is_no_text_and_an_empty_list(void **state)
{
    static const char *const TEXTS[] = {"k:\n", "k: ~\n", "k: null\n", "k: Null\n", "k: NULL\n"};
    (void)state;
    for (size_t i = 0; i < WEIR_COUNT(TEXTS); i++) {
        WEIR_AUTO(weir_yaml) document = parse(TEXTS[i]);
        const struct weir_yaml_node *value = weir_yaml_get(weir_yaml_root(document), "k");
        assert_true(weir_yaml_is_null(value));
        assert_false(weir_yaml_is_scalar(value));
        assert_null(weir_yaml_text(value));
        assert_int_equal(weir_yaml_length(value), 0);
    }
    WEIR_AUTO(weir_yaml) quoted = parse("k: 'null'\n");
    assert_string_equal(weir_yaml_text(weir_yaml_get(weir_yaml_root(quoted), "k")), "null");
}

static void a_list_of_one_needs_no_dash(void **state)
{
    WEIR_AUTO(weir_yaml) document = parse("word: a\nmap: {b: 1}\n");
    const struct weir_yaml_node *word = weir_yaml_get(weir_yaml_root(document), "word");
    const struct weir_yaml_node *map = weir_yaml_get(weir_yaml_root(document), "map");
    (void)state;
    assert_int_equal(weir_yaml_length(word), 1);
    assert_ptr_equal(weir_yaml_at(word, 0), word);
    assert_int_equal(weir_yaml_length(map), 1);
    assert_ptr_equal(weir_yaml_at(map, 0), map);
    assert_int_equal(weir_yaml_length(NULL), 0);
}

static void an_empty_file_is_a_null(void **state)
{
    static const char *const TEXTS[] = {"", "\n", "# only a comment\n", "---\n"};
    (void)state;
    for (size_t i = 0; i < WEIR_COUNT(TEXTS); i++) {
        WEIR_AUTO(weir_yaml) document = parse(TEXTS[i]);
        assert_true(weir_yaml_is_null(weir_yaml_root(document)));
        assert_null(weir_yaml_get(weir_yaml_root(document), "a"));
    }
}

static void yes_and_on_are_words(void **state)
{
    WEIR_AUTO(weir_yaml) document = parse("on: new\nanswer: no\n");
    (void)state;
    assert_string_equal(weir_yaml_text(weir_yaml_get(weir_yaml_root(document), "on")), "new");
    assert_string_equal(weir_yaml_text(weir_yaml_get(weir_yaml_root(document), "answer")), "no");
}

static void a_complaint_names_the_place_of_its_node(void **state)
{
    WEIR_AUTO(weir_yaml) document = parse("a:\n  - x\n  - {b: 7}\n");
    const struct weir_yaml_node *list = weir_yaml_get(weir_yaml_root(document), "a");
    struct weir_error err;
    (void)state;
    weir_ignore(weir_yaml_fail(weir_yaml_at(list, 0), &err, "not %d", 3)); /* always fails */
    assert_string_equal(err.text, "f.yaml:2:5: not 3");
    weir_ignore(
        weir_yaml_fail(weir_yaml_get(weir_yaml_at(list, 1), "b"), &err, "odd")); /* likewise */
    assert_string_equal(err.text, "f.yaml:3:9: odd");
    weir_ignore(weir_yaml_fail(NULL, &err, "nowhere")); /* likewise */
    assert_string_equal(err.text, "nowhere");
}

static void what_is_printed_reads_the_same(void **state)
{
    static const char *const TEXTS[] = {
        "{a: 1, b: [x, \"y z\", null], \"c d\": {e: \"\"}}",
        "[\"null\", \"true: x\", \"#\", \"a\\\"b\\\\c\", \"tab\\x09\", \"-\", -1, 1.5e3, a/b.txt]",
        "null",
        "word",
        "[]",
        "{}",
        "[größe]",
    };
    (void)state;
    for (size_t i = 0; i < WEIR_COUNT(TEXTS); i++) {
        WEIR_AUTO_BUF once = {0};
        WEIR_AUTO_BUF twice = {0};
        WEIR_AUTO(weir_yaml) first = parse(TEXTS[i]);
        weir_yaml_print(weir_yaml_root(first), &once);
        WEIR_AUTO(weir_yaml) second = parse(weir_buf_text(&once));
        weir_yaml_print(weir_yaml_root(second), &twice);
        assert_string_equal(weir_buf_text(&once), weir_buf_text(&twice));
    }
}

static void a_file_is_loaded_or_named(void **state)
{
    struct temp_dir dir;
    struct weir_error err;
    WEIR_AUTO(weir_yaml) document = NULL;
    (void)state;
    temp_dir_make(&dir);
    assert_int_equal(weir_yaml_load(temp_path(&dir, "a.yaml"), &document, &err), WEIR_NOT_FOUND);
    assert_non_null(strstr(err.text, temp_path(&dir, "a.yaml")));
    assert_int_equal(weir_file_write_atomic(temp_path(&dir, "a.yaml"), weir_bytes_of("a: 1"), &err),
                     WEIR_OK);
    assert_int_equal(weir_yaml_load(temp_path(&dir, "a.yaml"), &document, &err), WEIR_OK);
    assert_string_equal(weir_yaml_text(weir_yaml_get(weir_yaml_root(document), "a")), "1");
    temp_dir_remove(&dir);
}

static void as_json_only_what_reads_like_a_number_is_one(void **unused)
{
    (void)unused;
    static const struct {
        const char *yaml, *json;
    } CASES[] = {
        {"a: 1", "{\"a\": 1}"},
        {"{a: -0.5, b: 1e-3, c: 1.5E+7}", "{\"a\": -0.5, \"b\": 1e-3, \"c\": 1.5E+7}"},
        {"[true, false, null, ~, True]", "[true, false, null, null, \"True\"]"},
        {"[007, 1., .5, 1e, 0x1f, -a, 1_000, 5s]",
         "[\"007\", \"1.\", \".5\", \"1e\", \"0x1f\", \"-a\", \"1_000\", \"5s\"]"},
        {"['1', \"true\", 'null']", "[\"1\", \"true\", \"null\"]"},
        {"{'q\"': \"a\\\\b\\n\"}", "{\"q\\\"\": \"a\\\\b\\u000a\"}"},
        {"{a: [{b: []}, {}]}", "{\"a\": [{\"b\": []}, {}]}"},
    };

    for (size_t i = 0; i < WEIR_COUNT(CASES); i++) {
        struct weir_yaml *document = NULL;
        struct weir_error err;
        WEIR_AUTO_BUF json = {0};
        if (weir_yaml_parse("x", weir_bytes_of(CASES[i].yaml), &document, &err) != WEIR_OK)
            fail_msg("%s", err.text);
        weir_yaml_print_json(weir_yaml_root(document), &json);
        assert_string_equal(weir_buf_text(&json), CASES[i].json);
        weir_yaml_free(document);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(broken_files_are_refused_at_their_place),
        cmocka_unit_test(every_kind_of_damage_is_one_line_with_a_place),
        cmocka_unit_test(nesting_is_bounded),
        cmocka_unit_test(a_file_beyond_the_limit_is_refused),
        cmocka_unit_test(the_tree_is_what_was_written),
        cmocka_unit_test(a_null_is_no_text_and_an_empty_list),
        cmocka_unit_test(a_list_of_one_needs_no_dash),
        cmocka_unit_test(an_empty_file_is_a_null),
        cmocka_unit_test(yes_and_on_are_words),
        cmocka_unit_test(a_complaint_names_the_place_of_its_node),
        cmocka_unit_test(what_is_printed_reads_the_same),
        cmocka_unit_test(as_json_only_what_reads_like_a_number_is_one),
        cmocka_unit_test(a_file_is_loaded_or_named),
    };
    return cmocka_run_group_tests_name("yaml", tests, NULL, NULL);
}
