/* The reference page as data, and the words people look for in it. */
#include "cli/reference.h"

#include "cli/answer.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

static const char PAGE[] =
    "# The pipeline file\n"
    "\n"
    "Generated.\n"
    "\n"
    "## training\n"
    "\n"
    "Which model learns how.\n"
    "\n"
    "| key | type | default | bounds | meaning |\n"
    "|---|---|---|---|---|\n"
    "| `epochs` | integer | `1` | >= 1 | passes over the set |\n"
    "| `loss` | `logistic` \\| `squared` | required |  | what is minimised |\n"
    "\n"
    "### `datasets[].source`\n"
    "\n"
    "| key | type | default | bounds | meaning |\n"
    "|---|---|---|---|---|\n"
    "| `path` | text | required |  | folder |\n"
    "\n"
    "### selection.policy: random\n"
    "\n"
    "every candidate with the same chance.\n"
    "\n"
    "| key | type | default | bounds | meaning |\n"
    "|---|---|---|---|---|\n"
    "| `limit` | integer | |  | so many at most |\n"
    "### selection.policy: new_data\n"
    "\n"
    "no options\n"
    "# The system file\n"
    "\n"
    "| key | type | default | bounds | meaning |\n"
    "|---|---|---|---|---|\n"
    "| `workers` | any | |  | worker processes |\n";

static void headings_tables_and_sentences_are_read(void **state)
{
    json_t *reference = cli_reference_parse(PAGE);
    (void)state;
    assert_int_equal(json_array_size(reference), 6); /* each file begins one as well */
    const json_t *training = json_array_get(reference, 1);
    assert_string_equal(cli_text(training, "title"), "training");
    assert_string_equal(cli_text(training, "summary"), "Which model learns how");
    assert_null(json_object_get(training, "kind"));
    const json_t *loss = json_array_get(json_object_get(training, "keys"), 1);
    assert_string_equal(cli_text(loss, "key"), "loss");
    assert_string_equal(cli_text(loss, "type"), "logistic | squared");
    assert_string_equal(cli_text(loss, "default"), "required");
    assert_string_equal(cli_text(loss, "bounds"), "");
    assert_string_equal(cli_text(loss, "meaning"), "what is minimised");
    assert_string_equal(cli_text(json_array_get(reference, 2), "title"), "datasets.source");
    const json_t *random = json_array_get(reference, 3);
    assert_string_equal(cli_text(random, "kind"), "selection.policy");
    assert_string_equal(cli_text(random, "name"), "random");
    json_decref(reference);
}

static void an_empty_page_is_an_empty_reference(void **state)
{
    static const char *const PAGES[] = {"", "\n\n", "| `a` | b |\n", "##\n", "text"};
    (void)state;
    for (size_t i = 0; i < sizeof(PAGES) / sizeof(*PAGES); i++) {
        json_t *reference = cli_reference_parse(PAGES[i]);
        assert_int_equal(json_array_size(reference), 0);
        json_decref(reference);
    }
}

static void words_find_sections_policies_and_keys(void **state)
{
    static const struct {
        const char *words, *title;
        size_t keys;
    } CASES[] = {
        {"training", "training", 2},
        {"epochs", "training", 1},
        {"workers", "The system file", 1},
        {"training.epochs", "training", 1},
        {"datasets.source.path", "datasets.source", 1},
        {"source.path", "datasets.source", 1},
        {"random", "selection.policy: random", 1},
        {"selection.limit", "selection.policy: random", 1},
        {"new_data", "selection.policy: new_data", 0},
        {"selection.random", "selection.policy: random", 1},
    };
    json_t *reference = cli_reference_parse(PAGE);
    (void)state;
    for (size_t i = 0; i < sizeof(CASES) / sizeof(*CASES); i++) {
        json_t *entries = NULL;
        struct weir_error err;
        assert_int_equal(cli_reference_find(reference, CASES[i].words, &entries, &err), WEIR_OK);
        assert_int_equal(json_array_size(entries), 1);
        const json_t *entry = json_array_get(entries, 0);
        assert_string_equal(cli_text(entry, "title"), CASES[i].title);
        assert_int_equal(json_array_size(json_object_get(entry, "keys")), CASES[i].keys);
        json_decref(entries);
    }
    json_decref(reference);
}

static void what_is_not_there_is_told_with_the_nearest(void **state)
{
    static const struct {
        const char *words, *text;
    } CASES[] = {
        {"training.epoch", "config explain: no key, section or policy is called 'training.epoch' "
                           "(did you mean epochs?)"},
        {"rndom", "config explain: no key, section or policy is called 'rndom' (did you mean "
                  "random?)"},
        {"selection.epochs.of.nothing", "config explain: no key, section or policy is called "
                                        "'selection.epochs.of.nothing'; weir policies lists what "
                                        "there is"},
    };
    json_t *reference = cli_reference_parse(PAGE);
    (void)state;
    for (size_t i = 0; i < sizeof(CASES) / sizeof(*CASES); i++) {
        json_t *entries = NULL;
        struct weir_error err;
        assert_int_equal(cli_reference_find(reference, CASES[i].words, &entries, &err),
                         WEIR_INVALID);
        assert_string_equal(err.text, CASES[i].text);
    }
    json_decref(reference);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(headings_tables_and_sentences_are_read),
        cmocka_unit_test(an_empty_page_is_an_empty_reference),
        cmocka_unit_test(words_find_sections_policies_and_keys),
        cmocka_unit_test(what_is_not_there_is_told_with_the_nearest),
    };
    return cmocka_run_group_tests_name("cli reference", tests, NULL, NULL);
}
