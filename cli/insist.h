/* Asking the person at the terminal whether a request that was refused is meant all the same. */
#ifndef CLI_INSIST_H
#define CLI_INSIST_H

#include "cli/command.h"

/* An erasure that matches nothing: then `arguments` allow that. False without a terminal on stdin and stderr, and with
 * --json: a script gives --allow-none. */
cli_insist_fn cli_insist_on_none;

#endif
