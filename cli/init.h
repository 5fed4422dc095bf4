/* weir init: a pipeline file for data that nobody has described yet. */
#ifndef CLI_INIT_H
#define CLI_INIT_H

#include "cli/command.h"

cli_answer_fn cli_answer_init;

#endif
