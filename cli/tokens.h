/* weir tokens: the token is drawn here and shown once; the platform is sent its hash alone. */
#ifndef CLI_TOKENS_H
#define CLI_TOKENS_H

#include "cli/command.h"

cli_answer_fn cli_answer_tokens_new;
cli_arguments_fn cli_arguments_tokens_revoke;

#endif
