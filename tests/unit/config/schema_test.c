/* Tables of keys: defaults, bounds, units, suggestions, and the exact words of every complaint. */
#include "core/base/memory.h"
#include "core/config/schema.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

struct section {
    bool enabled;
    int64_t offset;
    uint64_t epochs;
    double rate;
    const char *model;
    int64_t every;
    uint64_t memory;
    int order;
    struct cfg_texts files;
    const struct weir_yaml_node *options;
    const char *otherwise;
};

static const char *const ORDERS[] = {"full", "windowed", "none", NULL};

static const struct cfg_key KEYS[] = {
    CFG_BOOL(struct section, enabled, .fallback = "true", .doc = "whether it is on"),
    CFG_I64(struct section, offset, .min = -5, .max = 5, .doc = "where it starts"),
    CFG_U64(struct section, epochs, .required = true, .min = 1, .doc = "passes over the data"),
    CFG_F64(struct section, rate, .fallback = "0.1", .min = 0, .max = 1, .doc = "step size"),
    CFG_TEXT(struct section, model, .fallback = "linear", .doc = "what is trained"),
    CFG_DURATION(struct section, every, .fallback = "60s", .min = 1000000, .doc = "how often"),
    CFG_SIZE(struct section, memory, .fallback = "64MiB", .max = 1 << 30, .doc = "at most so much"),
    CFG_CHOICE(struct section, order, .fallback = "full", .choices = ORDERS, .doc = "the order"),
    CFG_TEXTS(struct section, files, .doc = "which files"),
    CFG_NODE(struct section, options, .doc = "anything"),
    CFG_KEY_AS("else", CFG_KIND_TEXT, const char *, struct section, otherwise, .doc = "or what"),
    CFG_END,
};

static struct weir_yaml *parse(const char *text)
{
    struct weir_yaml *document = NULL;
    struct weir_error err;
    if (weir_yaml_parse("f.yaml", weir_bytes_of(text), &document, &err) != WEIR_OK)
        fail_msg("%s", err.text);
    return document;
}

static enum weir_status read_text(const char *text, struct weir_error *err)
{
    WEIR_AUTO(weir_yaml) document = parse(text);
    struct section section = {0};
    return cfg_read(KEYS, CFG_CLOSED, weir_yaml_root(document), "training", "policy", &section,
                    err);
}

static void what_is_left_out_takes_its_default(void **state)
{
    WEIR_AUTO(weir_yaml) document = parse("epochs: 3\nmodel:\n");
    struct section section = {0};
    struct weir_error err;
    (void)state;
    assert_int_equal(
        cfg_read(KEYS, CFG_CLOSED, weir_yaml_root(document), "training", NULL, &section, &err),
        WEIR_OK);
    assert_true(section.enabled);
    assert_int_equal(section.offset, 0);
    assert_int_equal(section.epochs, 3);
    assert_true(section.rate == 0.1);
    assert_string_equal(section.model, "linear");
    assert_int_equal(section.every, 60000000);
    assert_int_equal(section.memory, 64 << 20);
    assert_int_equal(section.order, 0);
    assert_int_equal(section.files.count, 0);
    assert_null(section.options);
    assert_null(section.otherwise);
}

static void what_is_given_is_taken(void **state)
{
    WEIR_AUTO(weir_yaml)
    document = parse(
        "enabled: false\noffset: -5\nepochs: 18446744073709551615\nrate: 2.5e-1\nmodel: 'a b'\n"
        "every: 1w\nmemory: 1GiB\norder: none\nfiles: [a, b]\noptions: {x: 1}\nelse: keep\n"
        "policy: amount\n");
    struct section section = {0};
    struct weir_error err;
    (void)state;
    assert_int_equal(
        cfg_read(KEYS, CFG_CLOSED, weir_yaml_root(document), "t", "policy", &section, &err),
        WEIR_OK);
    assert_false(section.enabled);
    assert_int_equal(section.offset, -5);
    assert_true(section.epochs == UINT64_MAX);
    assert_true(section.rate == 0.25);
    assert_string_equal(section.model, "a b");
    assert_int_equal(section.every, INT64_C(7) * 24 * 3600 * 1000000);
    assert_int_equal(section.memory, 1 << 30);
    assert_string_equal(ORDERS[section.order], "none");
    assert_int_equal(section.files.count, 2);
    assert_string_equal(weir_yaml_text(weir_yaml_at(section.files.node, 1)), "b");
    assert_string_equal(weir_yaml_text(weir_yaml_get(section.options, "x")), "1");
    assert_string_equal(section.otherwise, "keep");
}

static void a_bad_value_is_refused_in_these_words(void **state)
{
    static const struct {
        const char *text, *expected;
    } CASES[] = {
        {"epochs: many", "f.yaml:1:9: training.epochs: expected an integer >= 1, found 'many'"},
        {"epochs: 0", "f.yaml:1:9: training.epochs: expected an integer >= 1, found '0'"},
        {"epochs: -1", "f.yaml:1:9: training.epochs: expected an integer >= 1, found '-1'"},
        {"epochs: 1.5", "f.yaml:1:9: training.epochs: expected an integer >= 1, found '1.5'"},
        {"epochs: 0x10", "f.yaml:1:9: training.epochs: expected an integer >= 1, found '0x10'"},
        {"epochs: ' 1'", "f.yaml:1:10: training.epochs: expected an integer >= 1, found ' 1'"},
        {"epochs: 18446744073709551616",
         "f.yaml:1:9: training.epochs: expected an integer >= 1, found '18446744073709551616'"},
        {"epochs: [1]", "f.yaml:1:9: training.epochs: expected an integer >= 1, found a list"},
        {"epochs: {}", "f.yaml:1:9: training.epochs: expected an integer >= 1, found a mapping"},
        {"epochs:", "f.yaml:1:1: training: the key 'epochs' is missing: passes over the data"},
        {"{}", "f.yaml:1:1: training: the key 'epochs' is missing: passes over the data"},
        {"- epochs", "f.yaml:1:1: training: expected a mapping (key: value), found a list"},
        {"words", "f.yaml:1:1: training: expected a mapping (key: value), found 'words'"},
        {"epochs: 1\nenabled: yes",
         "f.yaml:2:10: training.enabled: expected true or false, found 'yes'"},
        {"epochs: 1\noffset: 6",
         "f.yaml:2:9: training.offset: expected an integer >= -5 and <= 5, found '6'"},
        {"epochs: 1\nrate: nan",
         "f.yaml:2:7: training.rate: expected a number >= 0 and <= 1, found 'nan'"},
        {"epochs: 1\nrate: 1e999",
         "f.yaml:2:7: training.rate: expected a number >= 0 and <= 1, found '1e999'"},
        {"epochs: 1\nevery: 1 month", "f.yaml:2:8: training.every: expected a duration "
                                      "(250ms, 2s, 5m, 1h, 1d, 1w) >= 1s, found '1 month'"},
        {"epochs: 1\nevery: 999ms", "f.yaml:2:8: training.every: expected a duration "
                                    "(250ms, 2s, 5m, 1h, 1d, 1w) >= 1s, found '999ms'"},
        {"epochs: 1\nmemory: 2GiB", "f.yaml:2:9: training.memory: expected a size "
                                    "(512, 64KiB, 16MiB, 2GiB) <= 1GiB, found '2GiB'"},
        {"epochs: 1\norder: windoed",
         "f.yaml:2:8: training.order: expected one of: full, windowed, none, "
         "found 'windoed' (did you mean 'windowed'?)"},
        {"epochs: 1\nfiles: [a, [b]]",
         "f.yaml:2:12: training.files: expected a list of texts, found a list"},
        {"epochs: 1\nepoch: 2", "f.yaml:2:1: training.epoch: unknown key (did you mean 'epochs'?)"},
        {"epochs: 1\nfriend: 2",
         "f.yaml:2:1: training.friend: unknown key, expected one of: enabled, offset, epochs, rate, "
         "model, every, memory, order, files, options, else"},
    };
    (void)state;
    for (size_t i = 0; i < WEIR_COUNT(CASES); i++) {
        struct weir_error err;
        assert_int_equal(read_text(CASES[i].text, &err), WEIR_INVALID);
        assert_string_equal(err.text, CASES[i].expected);
    }
}

static void several_complaints_come_together_one_a_line(void **state)
{
    struct weir_error err;
    (void)state;
    assert_int_equal(read_text("epochs: 0\nrate: x\nmodle: m\n", &err), WEIR_INVALID);
    assert_string_equal(err.text,
                        "f.yaml:3:1: training.modle: unknown key (did you mean 'model'?)\n"
                        "f.yaml:1:9: training.epochs: expected an integer >= 1, found '0'\n"
                        "f.yaml:2:7: training.rate: expected a number >= 0 and <= 1, found 'x'");
}

static void complaints_beyond_the_room_are_counted(void **state)
{
    WEIR_AUTO_BUF text = {0};
    struct weir_error err;
    (void)state;
    weir_buf_append_text(&text, "epochs: 1\n");
    for (int i = 0; i < 20; i++)
        weir_buf_printf(&text, "modle%d: 1\n", i);
    assert_int_equal(read_text(weir_buf_text(&text), &err), WEIR_INVALID);
    const char *last = strrchr(err.text, '\n');
    assert_non_null(last);
    assert_non_null(strstr(last, " more"));
    assert_int_equal(strncmp(last + 1, "… and ", strlen("… and ")), 0);
}

static void a_huge_word_is_shortened(void **state)
{
    char text[2000] = "epochs: ";
    struct weir_error err;
    (void)state;
    memset(text + strlen(text), 'x', 1500);
    assert_int_equal(read_text(text, &err), WEIR_INVALID);
    assert_true(strlen(err.text) < 200);
    assert_non_null(strstr(err.text, "x…'"));
}

static void other_keys_are_fine_when_they_belong_to_others(void **state)
{
    static const struct cfg_key NAME[] = {
        CFG_TEXT(struct section, model, .required = true, .doc = "a name"),
        CFG_END,
    };
    WEIR_AUTO(weir_yaml) document = parse("model: x\nepochs: many\n");
    struct section section = {0};
    struct weir_error err;
    (void)state;
    assert_int_equal(cfg_read(NAME, CFG_OPEN, weir_yaml_root(document), "", NULL, &section, &err),
                     WEIR_OK);
    assert_string_equal(section.model, "x");
}

static void a_section_that_is_not_there_reads_as_empty(void **state)
{
    struct section section = {0};
    struct weir_error err;
    (void)state;
    assert_int_equal(cfg_read(KEYS, CFG_CLOSED, NULL, "training", NULL, &section, &err),
                     WEIR_INVALID);
    assert_string_equal(err.text, "training: the key 'epochs' is missing: passes over the data");
    assert_int_equal(cfg_read(KEYS + 3, CFG_CLOSED, NULL, "training", NULL, &section, &err),
                     WEIR_OK);
    assert_string_equal(section.model, "linear");
}

static void durations_have_units(void **state)
{
    static const struct {
        const char *text;
        int64_t us; /* -1: none */
    } CASES[] = {
        {"0s", 0},
        {"7us", 7},
        {"250ms", 250000},
        {"2s", 2000000},
        {"5m", 300000000},
        {"1h", 3600000000},
        {"1d", 86400000000},
        {"2w", 1209600000000},
        {"10", -1},
        {"s", -1},
        {"1 s", 1000000},
        {"1 day", 86400000000},
        {"2 weeks", 1209600000000},
        {"1  s", -1},
        {"1 ", -1},
        {"-1s", -1},
        {"1.5s", -1},
        {"1month", -1},
        {"1sec", -1},
        {"", -1},
        {"9999999999999w", -1},
        {"99999999999999999999s", -1},
    };
    (void)state;
    for (size_t i = 0; i < WEIR_COUNT(CASES); i++) {
        int64_t us = -1;
        bool is_read = cfg_parse_duration(CASES[i].text, &us);
        assert_int_equal(is_read, CASES[i].us >= 0);
        assert_true(us == CASES[i].us);
    }
}

static void sizes_are_powers_of_two(void **state)
{
    uint64_t bytes = 1;
    (void)state;
    assert_true(cfg_parse_size("512", &bytes) && bytes == 512);
    assert_true(cfg_parse_size("64KiB", &bytes) && bytes == 65536);
    assert_true(cfg_parse_size("3MiB", &bytes) && bytes == 3145728);
    assert_true(cfg_parse_size("2GiB", &bytes) && bytes == UINT64_C(2147483648));
    assert_true(cfg_parse_size("1TiB", &bytes) && bytes == UINT64_C(1) << 40);
    assert_false(cfg_parse_size("1MB", &bytes));
    assert_false(cfg_parse_size("1.5MiB", &bytes));
    assert_false(cfg_parse_size("-1", &bytes));
    assert_false(cfg_parse_size("9999999TiB", &bytes));
}

static void the_nearest_word_is_near(void **state)
{
    static const char *const NAMES[] = {"epochs", "model", "learning_rate", "ab", NULL};
    static const struct {
        const char *word, *nearest;
    } CASES[] = {
        {"epoch", "epochs"}, {"epohcs", "epochs"},
        {"modle", "model"},  {"learnin_rat", "learning_rate"},
        {"lr", NULL},        {"something", NULL},
        {"cd", NULL},        {"", NULL},
        {"model", "model"},  {"learning-rates", "learning_rate"},
    };
    (void)state;
    for (size_t i = 0; i < WEIR_COUNT(CASES); i++) {
        const char *found = cfg_nearest(CASES[i].word, NAMES);
        if (CASES[i].nearest == NULL)
            assert_null(found);
        else
            assert_string_equal(found, CASES[i].nearest);
    }
}

static void effective_values_read_back_the_same(void **state)
{
    WEIR_AUTO(weir_yaml)
    document = parse("epochs: 3\nmodel: 'a: b'\nevery: 90s\nfiles: [x, 'y z']\n"
                     "options: {p: [1, 2]}\n");
    struct section section = {0};
    struct weir_error err;
    WEIR_AUTO_BUF once = {0};
    WEIR_AUTO_BUF twice = {0};
    (void)state;
    assert_int_equal(
        cfg_read(KEYS, CFG_CLOSED, weir_yaml_root(document), "t", NULL, &section, &err), WEIR_OK);
    cfg_print(KEYS, &section, 0, &once);
    assert_string_equal(weir_buf_text(&once), "enabled: true\n"
                                              "offset: 0\n"
                                              "epochs: 3\n"
                                              "rate: 0.1\n"
                                              "model: \"a: b\"\n"
                                              "every: 90s\n"
                                              "memory: 64MiB\n"
                                              "order: full\n"
                                              "files: [x, \"y z\"]\n"
                                              "options: {p: [1, 2]}\n"
                                              "else: null\n");
    WEIR_AUTO(weir_yaml) printed = parse(weir_buf_text(&once));
    memset(&section, 0, sizeof(section));
    assert_int_equal(cfg_read(KEYS, CFG_CLOSED, weir_yaml_root(printed), "t", NULL, &section, &err),
                     WEIR_OK);
    cfg_print(KEYS, &section, 0, &twice);
    assert_string_equal(weir_buf_text(&once), weir_buf_text(&twice));
}

static void a_table_documents_itself(void **state)
{
    WEIR_AUTO_BUF page = {0};
    (void)state;
    cfg_document(KEYS, &page);
    assert_string_equal(weir_buf_text(&page),
                        "| key | type | default | bounds | meaning |\n"
                        "|---|---|---|---|---|\n"
                        "| `enabled` | bool | `true` |  | whether it is on |\n"
                        "| `offset` | integer | | >= -5 and <= 5 | where it starts |\n"
                        "| `epochs` | integer | required | >= 1 | passes over the data |\n"
                        "| `rate` | number | `0.1` | >= 0 and <= 1 | step size |\n"
                        "| `model` | text | `linear` |  | what is trained |\n"
                        "| `every` | duration | `60s` | >= 1s | how often |\n"
                        "| `memory` | size | `64MiB` | <= 1GiB | at most so much |\n"
                        "| `order` | `full` \\| `windowed` \\| `none` | `full` |  | the order |\n"
                        "| `files` | texts | |  | which files |\n"
                        "| `options` | any | |  | anything |\n"
                        "| `else` | text | |  | or what |\n");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_is_left_out_takes_its_default),
        cmocka_unit_test(what_is_given_is_taken),
        cmocka_unit_test(a_bad_value_is_refused_in_these_words),
        cmocka_unit_test(several_complaints_come_together_one_a_line),
        cmocka_unit_test(complaints_beyond_the_room_are_counted),
        cmocka_unit_test(a_huge_word_is_shortened),
        cmocka_unit_test(other_keys_are_fine_when_they_belong_to_others),
        cmocka_unit_test(a_section_that_is_not_there_reads_as_empty),
        cmocka_unit_test(durations_have_units),
        cmocka_unit_test(sizes_are_powers_of_two),
        cmocka_unit_test(the_nearest_word_is_near),
        cmocka_unit_test(effective_values_read_back_the_same),
        cmocka_unit_test(a_table_documents_itself),
    };
    return cmocka_run_group_tests_name("schema", tests, NULL, NULL);
}
