/* A command line for tests: one text, cut at blanks into words that may be moved around. */
#ifndef WEIR_TESTS_CLI_COMMAND_LINE_H
#define WEIR_TESTS_CLI_COMMAND_LINE_H

#include "cli/commands.h"

#include <stdio.h>
#include <string.h>

enum { COMMAND_LINE_WORDS = 24 };

struct command_line {
    char text[512];
    char *argv[COMMAND_LINE_WORDS + 1];
    int argc;
};

static inline void command_line_cut(struct command_line *line, const char *text)
{
    char *rest = NULL;
    (void)snprintf(line->text, sizeof(line->text), "weir %s", text);
    line->argc = 0;
    for (char *word = strtok_r(line->text, " ", &rest);
         word != NULL && line->argc < COMMAND_LINE_WORDS; word = strtok_r(NULL, " ", &rest))
        line->argv[line->argc++] = word;
    line->argv[line->argc] = NULL;
}

/* Reads `text` as weir would; the call borrows from `line`. */
static inline enum weir_status command_line_read(struct command_line *line, const char *text,
                                                 struct cli_call *ret_call, struct weir_error *err)
{
    command_line_cut(line, text);
    return cli_call_read(line->argc, line->argv, ret_call, err);
}

#endif
