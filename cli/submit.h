/* weir submit: a pipeline file, checked here, on its way to the platform. */
#ifndef CLI_SUBMIT_H
#define CLI_SUBMIT_H

#include "cli/command.h"

/* INVALID with what is wrong with the file, and where. */
cli_arguments_fn cli_arguments_submit;

#endif
