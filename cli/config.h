/* Answers that need no platform: policies, config check, config explain. They ask the programs beside this one. */
#ifndef CLI_CONFIG_H
#define CLI_CONFIG_H

#include "cli/command.h"

/* Answers as `weir config check FILE` does, with --data or else with --elsewhere: file, valid, complaints. */
enum weir_status cli_config_check(const char *file, bool data, json_t **ret_answer,
                                  struct weir_error *err) WEIR_MUST_USE;

cli_answer_fn cli_answer_policies, cli_answer_config_check, cli_answer_config_explain,
    cli_answer_plan_verify;
/* CLI_EXIT_USAGE for a file with mistakes. */
cli_exit_fn cli_exit_of_check;

#endif
