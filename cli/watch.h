/* weir watch, weir logs: events of the platform, past ones and as they happen. */
#ifndef CLI_WATCH_H
#define CLI_WATCH_H

#include "cli/command.h"

/* Prints events one a line, as JSON (C11) or for people. With --follow, and always for `watch`, it goes on until the
 * pipeline ends, through any end and return of the platform; no event is shown twice. The answer says how the pipeline
 * stands. */
cli_answer_fn cli_answer_watch, cli_answer_logs;
/* CLI_EXIT_FAILED when the pipeline has failed. */
cli_exit_fn cli_exit_of_watch;

#endif
