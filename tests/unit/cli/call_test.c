/* The table of commands, and command lines on their way to it. */
#include "cli/commands.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "tests/unit/cli/command_line.h"

#include <cmocka.h>

static void every_row_of_the_table_is_complete(void **state)
{
    (void)state;
    for (size_t i = 0; i < cli_command_count(); i++) {
        const struct cli_command *command = cli_command_at(i);
        assert_non_null(command->summary);
        assert_non_null(command->render);
        assert_true(command->topic != NULL || command->answer != NULL);
        assert_true((command->topic != NULL && command->answer != NULL) ==
                    (command->by_itself != NULL));
        assert_true(command->operands_max == 0 || command->operands != NULL);
        assert_true(command->operands_min <= command->operands_max);
        assert_true(command->topic != NULL || command->follow == NULL);
    }
}

static void every_example_is_a_command_line_of_its_command(void **state)
{
    (void)state;
    for (size_t i = 0; i < cli_command_count(); i++) {
        struct command_line line;
        struct cli_call call;
        struct weir_error err;
        const struct cli_command *command = cli_command_at(i);
        assert_memory_equal(command->example, "weir ", 5);
        assert_int_equal(command_line_read(&line, command->example + 5, &call, &err), WEIR_OK);
        assert_ptr_equal(call.command, command);
        cli_call_fini(&call);
    }
}

static void options_stand_before_between_and_behind(void **state)
{
    static const char *const LINES[] = {
        "--data-dir D --json models show M",
        "models show --data-dir=D M --json",
        "models show M --json --data-dir D",
        "--json models show --data-dir D -- M",
    };
    (void)state;
    for (size_t i = 0; i < WEIR_COUNT(LINES); i++) {
        struct command_line line;
        struct cli_call call;
        struct weir_error err;
        assert_int_equal(command_line_read(&line, LINES[i], &call, &err), WEIR_OK);
        assert_string_equal(call.command->words, "models show");
        assert_string_equal(call.options.place.data_dir, "D");
        assert_true(call.options.json);
        assert_int_equal(call.operand_count, 1);
        assert_string_equal(call.operands[0], "M");
        cli_call_fini(&call);
    }
}

static void what_is_not_said_has_a_default(void **state)
{
    struct command_line line;
    struct cli_call call;
    struct weir_error err;
    (void)state;
    assert_int_equal(command_line_read(&line, "status", &call, &err), WEIR_OK);
    assert_null(call.options.place.data_dir); /* or what the context in use says */
    assert_false(call.options.json);
    assert_int_equal(command_line_read(&line, "--version", &call, &err), WEIR_OK);
    assert_null(call.command);
    assert_true(call.options.version);
}

static void values_are_gathered_in_order(void **state)
{
    struct command_line line;
    struct cli_call call;
    struct weir_error err;
    (void)state;
    assert_int_equal(
        command_line_read(&line, "erase request --subject a --id 7 --subject b", &call, &err),
        WEIR_OK);
    assert_int_equal(call.options.subjects.count, 2);
    assert_string_equal(call.options.subjects.at[1], "b");
    assert_int_equal(call.options.ids.count, 1);
    cli_call_fini(&call);
}

static void mistakes_are_told_with_what_was_meant(void **state)
{
    static const struct {
        const char *line, *text;
    } CASES[] = {
        {"promote m-1", "unknown command 'promote' (did you mean models promote?)"},
        {"stauts", "unknown command 'stauts' (did you mean status?)"},
        {"modles list", "unknown command 'modles' (did you mean models?)"},
        {"erase requst", "unknown command 'erase requst' (did you mean erase request?)"},
        {"erase",
         "erase: expected one of request, plan, status, list, receipt, verify, key after it; weir "
         "--help explains them"},
        {"erase everything",
         "erase: expected one of request, plan, status, list, receipt, verify, key "
         "after it; weir --help explains them"},
        {"xyzzyxyzzy", "unknown command 'xyzzyxyzzy': weir --help lists them"},
        {"status now", "status: unexpected 'now', for example: weir status"},
        {"models show", "models show: expected MODEL, for example: weir models show quickstart-3"},
        {"erase status", "erase status: expected ERASURE, for example: weir erase status 1 --wait"},
        {"status --jsn", "unknown option --jsn (did you mean --json?)"},
        {"status --subject x", "unknown option --subject: --help lists them"},
        {"status --data-dir", "--data-dir: expected DIR after it"},
    };
    (void)state;
    for (size_t i = 0; i < WEIR_COUNT(CASES); i++) {
        struct command_line line;
        struct cli_call call;
        struct weir_error err;
        assert_int_equal(command_line_read(&line, CASES[i].line, &call, &err), WEIR_INVALID);
        assert_string_equal(err.text, CASES[i].text);
    }
}

static void help_needs_no_operands(void **state)
{
    struct command_line line;
    struct cli_call call;
    struct weir_error err;
    (void)state;
    assert_int_equal(command_line_read(&line, "erase receipt --help", &call, &err), WEIR_OK);
    assert_true(call.options.help);
    assert_string_equal(call.command->words, "erase receipt");
    assert_int_equal(command_line_read(&line, "erase --help", &call, &err), WEIR_OK);
    assert_null(call.command);
    assert_string_equal(call.group, "erase");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_row_of_the_table_is_complete),
        cmocka_unit_test(every_example_is_a_command_line_of_its_command),
        cmocka_unit_test(options_stand_before_between_and_behind),
        cmocka_unit_test(what_is_not_said_has_a_default),
        cmocka_unit_test(values_are_gathered_in_order),
        cmocka_unit_test(mistakes_are_told_with_what_was_meant),
        cmocka_unit_test(help_needs_no_operands),
    };
    return cmocka_run_group_tests_name("cli call", tests, NULL, NULL);
}
