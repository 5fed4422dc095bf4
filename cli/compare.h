/* weir compare: a grid file is handed in, and its cells are watched until nothing more goes on. */
#ifndef CLI_COMPARE_H
#define CLI_COMPARE_H

#include "cli/command.h"

cli_answer_fn cli_answer_compare;
/* The comparison that is the operand, if there is one. */
cli_arguments_fn cli_arguments_comparison;
/* Marks the answer of which the cells are shown. */
cli_follow_fn cli_follow_comparison;
/* CLI_EXIT_FAILED when a cell is, CLI_EXIT_USAGE after a check that found mistakes. */
cli_exit_fn cli_exit_of_compare;

#endif
