/* Options from a table: values, flags, operands, and what is said about a mistyped one. */
#include "core/base/attributes.h"
#include "core/service/options.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

struct target {
    const char *data_dir;
    const char *name;
    struct weir_option_values ids;
    bool json;
};

static const struct weir_option OPTIONS[] = {
    {"data-dir", "DIR", "where everything is kept", offsetof(struct target, data_dir)},
    {"name", "NAME", "which one", offsetof(struct target, name)},
    {"id", "N…", "some of them", offsetof(struct target, ids)},
    {"json", NULL, "for programs", offsetof(struct target, json)},
    WEIR_OPTION_END,
};

enum { ARGUMENTS_MAX = 8 };

/* Calls with a copy of NULL-terminated `words`, as main() would be. */
static enum weir_status read_words(const char *const words[ARGUMENTS_MAX], char **argv,
                                   struct target *target, int *ret_operands, struct weir_error *err)
{
    static char copies[ARGUMENTS_MAX][64];
    int argc = 0;
    for (; words[argc] != NULL; argc++) {
        snprintf(copies[argc], sizeof(copies[argc]), "%s", words[argc]);
        argv[argc] = copies[argc];
    }
    argv[argc] = NULL;
    return weir_options_read(OPTIONS, argc, argv, target, ret_operands, err);
}

static void values_come_behind_or_after_an_equals_sign(void **state)
{
    const char *const words[ARGUMENTS_MAX] = {"x", "--data-dir", "a b", "--name=n=1", "--json"};
    char *argv[ARGUMENTS_MAX];
    struct target target = {0};
    struct weir_error err;
    int operands = -1;
    (void)state;
    assert_int_equal(read_words(words, argv, &target, &operands, &err), WEIR_OK);
    assert_string_equal(target.data_dir, "a b");
    assert_string_equal(target.name, "n=1");
    assert_true(target.json);
    assert_int_equal(operands, 0);
}

static void an_option_with_dots_keeps_every_value_in_order(void **state)
{
    const char *const words[ARGUMENTS_MAX] = {"x", "--id", "1", "--json", "--id=2", "--id", "3"};
    char *argv[ARGUMENTS_MAX];
    struct target target = {0};
    struct weir_error err;
    int operands = -1;
    (void)state;
    assert_int_equal(read_words(words, argv, &target, &operands, &err), WEIR_OK);
    assert_int_equal(target.ids.count, 3);
    assert_string_equal(target.ids.at[0], "1");
    assert_string_equal(target.ids.at[1], "2");
    assert_string_equal(target.ids.at[2], "3");
    weir_option_values_fini(&target.ids);
    assert_int_equal(target.ids.count, 0);
}

static void a_letter_stands_for_the_only_option_that_begins_with_it(void **state)
{
    const char *const words[ARGUMENTS_MAX] = {"x", "-j", "-d", "there", "-i", "7"};
    char *argv[ARGUMENTS_MAX];
    struct target target = {0};
    struct weir_error err;
    int operands = -1;
    (void)state;
    assert_int_equal(read_words(words, argv, &target, &operands, &err), WEIR_OK);
    assert_true(target.json);
    assert_string_equal(target.data_dir, "there");
    assert_string_equal(target.ids.at[0], "7");
    assert_int_equal(operands, 0);
    weir_option_values_fini(&target.ids);
}

static void operands_are_gathered_at_the_front(void **state)
{
    const char *const words[ARGUMENTS_MAX] = {"x", "one", "--json", "-", "--", "--name"};
    char *argv[ARGUMENTS_MAX];
    struct target target = {.name = "kept"};
    struct weir_error err;
    int operands = 0;
    (void)state;
    assert_int_equal(read_words(words, argv, &target, &operands, &err), WEIR_OK);
    assert_int_equal(operands, 3);
    assert_string_equal(argv[0], "one");
    assert_string_equal(argv[1], "-");
    assert_string_equal(argv[2], "--name");
    assert_string_equal(target.name, "kept");
}

static void mistakes_are_told_in_these_words(void **state)
{
    static const struct {
        const char *word, *expected;
    } CASES[] = {
        {"--dta-dir", "unknown option --dta-dir (did you mean --data-dir?)"},
        {"--dta-dir=x", "unknown option --dta-dir (did you mean --data-dir?)"},
        {"--frobnicate", "unknown option --frobnicate: --help lists them"},
        {"-x", "unknown option -x"},
        {"-jn", "unknown option -jn"},
        {"--data-dir", "--data-dir: expected DIR after it"},
        {"--json=1", "--json takes no value"},
        {"--=", "unknown option --: --help lists them"},
    };
    (void)state;
    for (size_t i = 0; i < WEIR_COUNT(CASES); i++) {
        const char *const words[ARGUMENTS_MAX] = {"x", CASES[i].word};
        char *argv[ARGUMENTS_MAX];
        struct target target = {0};
        struct weir_error err;
        int operands = 0;
        assert_int_equal(read_words(words, argv, &target, &operands, &err), WEIR_INVALID);
        assert_string_equal(err.text, CASES[i].expected);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(values_come_behind_or_after_an_equals_sign),
        cmocka_unit_test(an_option_with_dots_keeps_every_value_in_order),
        cmocka_unit_test(a_letter_stands_for_the_only_option_that_begins_with_it),
        cmocka_unit_test(operands_are_gathered_at_the_front),
        cmocka_unit_test(mistakes_are_told_in_these_words),
    };
    return cmocka_run_group_tests_name("options", tests, NULL, NULL);
}
