/* PyTorch's side of a figure: a script beside this file that prints how many samples it made a second. */
#ifndef BENCHMARKS_PREPROCESS_TORCH_H
#define BENCHMARKS_PREPROCESS_TORCH_H

#include "core/base/error.h"

#include <stdbool.h>

/* False, and why, when PyTorch is not installed. */
bool torch_is_there(struct weir_error *err);
/* Runs "SCRIPT ARGUMENTS WORKERS" with every sensible number of workers and returns the command of the
 * fastest, to be freed. UNAVAILABLE when PyTorch is not installed. */
enum weir_status torch_choose(const char *script, const char *arguments, char **ret_command,
                              struct weir_error *err) WEIR_MUST_USE;
enum weir_status torch_run(const char *command, double *ret_rate,
                           struct weir_error *err) WEIR_MUST_USE;

#endif
