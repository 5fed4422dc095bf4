/* `weir push`: samples from a file or stdin to storage, in batches that are acknowledged when they are on disk. */
#ifndef CLI_PUSH_H
#define CLI_PUSH_H

#include "cli/command.h"

/* Finds the platform, asks it where storage is, and pushes until the input ends. The payload goes
 * to storage itself, as raw frames. A batch keeps its number until it is acknowledged: whatever
 * dies and comes back, it is registered once. */
cli_answer_fn cli_answer_push;
/* CLI_EXIT_FAILED when a record was refused. */
cli_exit_fn cli_exit_of_push;

#endif
