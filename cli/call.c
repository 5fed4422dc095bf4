/* A command line on its way to its row of the table: words first, then options, then operands. */
#include "cli/commands.h"
#include "core/base/memory.h"
#include "core/config/schema.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { WORDS_MAX = 2, SHOWN_MAX = 60, COMMANDS_MAX = 80, OPTIONS_MAX = 24 };

/* ---- words ---- */

static bool takes_next_word(const char *word)
{
    for (const struct weir_option *option = CLI_COMMON_OPTIONS; option->name != NULL; option++)
        if (option->argument != NULL && strcmp(word + 2, option->name) == 0)
            return true;
    return false;
}

/* Returns the index of the command's first word; `argc` when there is none. Only common options may stand before it. */
static int first_word(int argc, char **argv)
{
    int at = 1;
    while (at < argc && strncmp(argv[at], "--", 2) == 0)
        at += takes_next_word(argv[at]) ? 2 : 1;
    return at < argc ? at : argc;
}

/* Returns how many of the words at argv[at] are `command`'s; 0: it is another one. */
static int words_matched(const struct cli_command *command, int argc, char **argv, int at)
{
    const char *words = command->words;
    for (int count = 1; count <= WORDS_MAX && at < argc; count++, at++) {
        size_t size = strlen(argv[at]);
        if (strncmp(words, argv[at], size) != 0 || (words[size] != '\0' && words[size] != ' '))
            return 0;
        if (words[size] == '\0')
            return count;
        words += size + 1;
    }
    return 0;
}

/* True when `command` is called `group` and something: "erase list" of "erase". */
static bool in_group(const struct cli_command *command, const char *group)
{
    size_t size = strcspn(command->words, " ");
    return command->words[size] == ' ' && strlen(group) == size &&
           strncmp(command->words, group, size) == 0;
}

static bool is_group(const char *word)
{
    for (size_t i = 0; i < cli_command_count(); i++)
        if (in_group(cli_command_at(i), word))
            return true;
    return false;
}

static enum weir_status fail_group(const char *word, struct weir_error *err)
{
    WEIR_AUTO_BUF list = {0};
    for (size_t i = 0; i < cli_command_count(); i++) {
        const struct cli_command *command = cli_command_at(i);
        if (in_group(command, word)) {
            weir_buf_printf(&list, "%s%s", list.size == 0 ? "" : ", ",
                            command->words + strlen(word) + 1);
        }
    }
    return weir_fail(err, WEIR_INVALID,
                     "%s: expected one of %s after it; weir --help explains them", word,
                     weir_buf_text(&list));
}

/* The command or group nearest to what was typed; NULL: none is near. Borrowed from `memory`. */
static const char *nearest(const char *typed, struct weir_arena *memory)
{
    const char *names[2 * COMMANDS_MAX + 1] = {NULL};
    size_t count = 0;
    weir_require(cli_command_count() <= COMMANDS_MAX);
    for (size_t i = 0; i < cli_command_count(); i++) {
        const char *words = cli_command_at(i)->words;
        names[count++] = words;
        names[count++] = weir_arena_strndup(memory, words, strcspn(words, " "));
    }
    return cfg_nearest(typed, names);
}

/* The command of a group whose last word was typed alone: promote, of models promote; NULL: there is none. */
static const char *grouped_as(const char *typed)
{
    for (size_t i = 0; i < cli_command_count(); i++) {
        const char *words = cli_command_at(i)->words, *blank = strchr(words, ' ');
        if (blank != NULL && strcmp(blank + 1, typed) == 0)
            return words;
    }
    return NULL;
}

static enum weir_status fail_unknown(int argc, char **argv, int at, struct weir_error *err)
{
    const char *second = at + 1 < argc && argv[at + 1][0] != '-' ? argv[at + 1] : "";
    bool grouped = is_group(argv[at]);
    bool two = grouped && *second != '\0';
    WEIR_AUTO_FREE char *typed = weir_format("%.*s%s%.*s", SHOWN_MAX / 2, argv[at], two ? " " : "",
                                             SHOWN_MAX / 2, two ? second : "");
    WEIR_AUTO(weir_arena) memory = weir_arena_new();
    const char *group = grouped_as(typed), *near = group != NULL ? group : nearest(typed, memory);
    if (grouped && (!two || near == NULL))
        return fail_group(argv[at], err);
    if (near == NULL)
        return weir_fail(err, WEIR_INVALID, "unknown command '%s': weir --help lists them", typed);
    return weir_fail(err, WEIR_INVALID, "unknown command '%s' (did you mean %s?)", typed, near);
}

static void drop_words(int *argc, char **argv, int at, int count)
{
    memmove(&argv[at], &argv[at + count], (size_t)(*argc - at - count) * sizeof(*argv));
    *argc -= count;
}

/* Takes the words before the command out of argv, which are options that all commands have. */
static enum weir_status take_common(int *argc, char **argv, struct cli_call *call,
                                    struct weir_error *err)
{
    int at = first_word(*argc, argv), operands = 0;
    enum weir_status status =
        weir_options_read(CLI_COMMON_OPTIONS, at, argv, &call->options, &operands, err);
    drop_words(argc, argv, 1, at - 1);
    return status;
}

/* Takes the command's words out of argv. */
static enum weir_status take_words(int *argc, char **argv, struct cli_call *call,
                                   struct weir_error *err)
{
    int at = 1;
    if (at == *argc)
        return WEIR_OK;
    for (size_t i = 0; i < cli_command_count(); i++) {
        int count = words_matched(cli_command_at(i), *argc, argv, at);
        if (count > 0) {
            drop_words(argc, argv, at, count);
            call->command = cli_command_at(i);
            return WEIR_OK;
        }
    }
    if (is_group(argv[at]) && at + 1 < *argc && strcmp(argv[at + 1], "--help") == 0) {
        call->group = argv[at];
        drop_words(argc, argv, at, 1);
        return WEIR_OK;
    }
    return fail_unknown(*argc, argv, at, err);
}

/* ---- options and operands ---- */

static bool is_named(const struct weir_option *options, size_t count, const char *name)
{
    for (size_t i = 0; i < count; i++)
        if (strcmp(options[i].name, name) == 0)
            return true;
    return false;
}

/* Options of the command hide common ones of the same name, which stand before the command then. */
static void join_options(const struct cli_command *command, struct weir_option joined[OPTIONS_MAX])
{
    size_t count = 0;
    const struct weir_option *const tables[] = {command == NULL ? NULL : command->options,
                                                CLI_COMMON_OPTIONS};
    for (size_t i = 0; i < WEIR_COUNT(tables); i++) {
        for (const struct weir_option *at = tables[i]; at != NULL && at->name != NULL; at++) {
            weir_require(count + 1 < OPTIONS_MAX);
            if (!is_named(joined, count, at->name))
                joined[count++] = *at;
        }
    }
    joined[count] = (struct weir_option)WEIR_OPTION_END;
}

static enum weir_status check_operands(const struct cli_call *call, struct weir_error *err)
{
    const struct cli_command *command = call->command;
    if (call->options.help || command == NULL)
        return WEIR_OK;
    if (call->operand_count < command->operands_min) {
        return weir_fail(err, WEIR_INVALID, "%s: expected %s, for example: %s", command->words,
                         command->operands, command->example);
    }
    if (call->operand_count > command->operands_max) {
        return weir_fail(err, WEIR_INVALID, "%s: unexpected '%.*s', for example: %s",
                         command->words, SHOWN_MAX, call->operands[command->operands_max],
                         command->example);
    }
    return WEIR_OK;
}

enum weir_status cli_call_read(int argc, char **argv, struct cli_call *ret_call,
                               struct weir_error *err)
{
    struct weir_option options[OPTIONS_MAX];
    struct cli_call call = {.command = NULL};
    int operands = 0;
    enum weir_status status = take_common(&argc, argv, &call, err);
    if (status == WEIR_OK)
        status = take_words(&argc, argv, &call, err);
    if (status == WEIR_OK) {
        join_options(call.command, options);
        status = weir_options_read(options, argc, argv, &call.options, &operands, err);
    }
    if (status == WEIR_OK) {
        call.operands = argv;
        call.operand_count = (size_t)operands;
        status = check_operands(&call, err);
    }
    if (status != WEIR_OK) {
        cli_call_fini(&call);
        return status;
    }
    *ret_call = call;
    return WEIR_OK;
}

void cli_call_fini(struct cli_call *call)
{
    cli_place_fini(&call->options.place);
    weir_option_values_fini(&call->options.subjects);
    weir_option_values_fini(&call->options.keys);
    weir_option_values_fini(&call->options.ids);
}

/* ---- help ---- */

static void help_command(const struct cli_command *command)
{
    struct weir_option options[OPTIONS_MAX];
    bool has_operands = command->operands != NULL;
    join_options(command, options);
    printf("weir %s: %s\n\nusage: weir %s%s%s [OPTIONS]\n\n", command->words, command->summary,
           command->words, has_operands ? " " : "", has_operands ? command->operands : "");
    weir_options_print(options);
    printf("\nexample:\n  %s\n", command->example);
}

/* The rows of one group, or of all. */
static void help_rows(const char *group)
{
    enum { WORDS_WIDTH = 16 };
    for (size_t i = 0; i < cli_command_count(); i++) {
        const struct cli_command *command = cli_command_at(i);
        if (group == NULL || in_group(command, group))
            printf("  %-*s  %s\n", WORDS_WIDTH, command->words, command->summary);
    }
}

static void help_group(const char *group)
{
    printf("usage: weir [--data-dir DIR | --key FILE] %s COMMAND [OPTIONS]\n\n", group);
    help_rows(group);
    printf("\nmore of one: weir %s COMMAND --help\n", group);
}

static void help_all(void)
{
    printf("weir: asks and orders the platform that serves a data directory, or is elsewhere\n\n"
           "usage: weir [--data-dir DIR | --key FILE] COMMAND [OPTIONS]\n\n");
    help_rows(NULL);
    printf("\nevery command takes:\n");
    weir_options_print(CLI_COMMON_OPTIONS);
    printf(
        "\nexample:\n  weir --data-dir .weir/default status\n\n"
        "exit codes: 0 done, 1 failed, 2 bad usage or configuration, 3 an erasure is overdue or not verified\n");
}

void cli_help(const struct cli_call *call)
{
    if (call->command != NULL)
        help_command(call->command);
    else if (call->group != NULL)
        help_group(call->group);
    else
        help_all();
}
