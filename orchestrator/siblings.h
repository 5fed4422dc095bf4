/* The other programs of this installation, asked about a pipeline file before anything is started. Each service knows
 * its own sections; together they know all. */
#ifndef ORCHESTRATOR_SIBLINGS_H
#define ORCHESTRATOR_SIBLINGS_H

#include "core/base/bytes.h"
#include "core/base/error.h"

/* Runs `PROGRAM OPTION [FILE]` for each of them, all at once. What they print is appended to `out` in a fixed order,
 * what they complain of to `complaints`. INVALID when one of them refuses the file, IO or NOT_FOUND when one cannot be
 * run. */
enum weir_status orchestrator_siblings_query(const char *bin_dir, const char *option,
                                             const char *file, struct weir_buf *out,
                                             struct weir_buf *complaints,
                                             struct weir_error *err) WEIR_MUST_USE;

/* Has the trainer check the file once more, against `tensors`: what the dispatcher has printed of a file that it found
 * good. */
enum weir_status orchestrator_siblings_fit(const char *bin_dir, const char *file,
                                           const char *tensors, struct weir_buf *complaints,
                                           struct weir_error *err) WEIR_MUST_USE;

#endif
