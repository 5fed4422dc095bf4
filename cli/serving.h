/* `orchestrator serve` as a child of this process, for as long as one command takes. */
#ifndef CLI_SERVING_H
#define CLI_SERVING_H

#include "core/base/error.h"

#include <sys/types.h>

struct cli_serving {
    pid_t pid;  /* 0: there is none */
    int pidfd;  /* readable once it has ended */
    int log_fd; /* its complaints: a file in memory */
};

/* Starts it without waiting until it answers. Unless it `works`, unfinished pipelines are left at rest; erasures go on.
 * Call it before anything starts threads. */
enum weir_status cli_serving_start(const char *data_dir, bool works,
                                   struct cli_serving *ret_serving,
                                   struct weir_error *err) WEIR_MUST_USE;
bool cli_serving_ended(const struct cli_serving *serving);
/* The last thing it complained of; "" when there is nothing. */
void cli_serving_last_line(const struct cli_serving *serving, char *text, size_t size);
/* Asks it to stop and waits; kills it when it takes too long. */
void cli_serving_stop(struct cli_serving *serving);

#endif
