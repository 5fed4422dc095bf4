/* The table of commands, and how a command line finds its row. */
#ifndef CLI_COMMANDS_H
#define CLI_COMMANDS_H

#include "cli/command.h"

size_t cli_command_count(void);
const struct cli_command *cli_command_at(size_t index);

/* Options that every command takes: --data-dir, --json, --help, --version. */
extern const struct weir_option CLI_COMMON_OPTIONS[];

/* Reads a command line (argv[0] is the program). `ret_call->command` stays NULL when no command is named, which is fine
 * with --help and --version. INVALID with the nearest command, or with the commands of a group ("erase"). Operands and
 * option values are borrowed from argv. Release with cli_call_fini(). */
enum weir_status cli_call_read(int argc, char **argv, struct cli_call *ret_call,
                               struct weir_error *err) WEIR_MUST_USE;
void cli_call_fini(struct cli_call *call);

/* Help on stdout: of one command, of a group, or of all. */
void cli_help(const struct cli_call *call);

#endif
