/* weir import modyn: pipeline files of Modyn's become pipeline files of Weir's. */
#ifndef CLI_IMPORT_H
#define CLI_IMPORT_H

#include "cli/command.h"

cli_answer_fn cli_answer_import_modyn;
/* CLI_EXIT_FAILED when a file could not be imported. */
cli_exit_fn cli_exit_of_import;

#endif
