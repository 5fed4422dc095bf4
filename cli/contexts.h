/* weir context: each command answers with the list as it is then. */
#ifndef CLI_CONTEXTS_H
#define CLI_CONTEXTS_H

#include "cli/command.h"

cli_answer_fn cli_answer_context_add, cli_answer_context_use, cli_answer_context_list,
    cli_answer_context_remove;

#endif
