/* weir keys new, weir keys rotate: the pair is made here, so that its secret never travels; the platform is sent the
 * public half. */
#ifndef CLI_KEYS_H
#define CLI_KEYS_H

#include "cli/command.h"

/* {"name", "role", "file" ("-": it went to standard output), and what the topic answers}. A file that is there already
 * stays as it is, and nothing is made: EXISTS. */
cli_answer_fn cli_answer_keys_new, cli_answer_keys_rotate;

cli_arguments_fn cli_arguments_keys_list, cli_arguments_keys_allow, cli_arguments_keys_revoke,
    cli_arguments_audit;

/* All records, page by page. */
cli_follow_fn cli_follow_audit;

#endif
