/* The side of a figure that a product of somebody else does: a script beside this file that prints how much of
 * the work it did a second. docs/peers.md says how each product is driven. */
#ifndef BENCHMARKS_PEERS_PEER_H
#define BENCHMARKS_PEERS_PEER_H

#include "core/base/error.h"

#include <stdbool.h>

/* UNAVAILABLE, and how it is installed, unless Python finds the module. */
enum weir_status peer_need_module(const char *product, const char *module,
                                  struct weir_error *err) WEIR_MUST_USE;
/* The same of NumPy: `prepare` of figures against it. */
enum weir_status peer_need_numpy(void *state, struct weir_error *err) WEIR_MUST_USE;
/* Runs "SCRIPT ARGUMENTS WORKERS" with every sensible number of workers and returns the command of the
 * fastest, to be freed. UNAVAILABLE when the product is not installed. */
enum weir_status peer_choose(const char *product, const char *script, const char *arguments,
                             char **ret_command, struct weir_error *err) WEIR_MUST_USE;
enum weir_status peer_run(const char *product, const char *command, double *ret_rate,
                          struct weir_error *err) WEIR_MUST_USE;

/* Two numbers that a script prints: what it trained a second, and how good that is. */
struct peer_training {
    double rate, quality;
};
/* UNAVAILABLE when the script ends with 77: its product, or its data, are not there. */
enum weir_status peer_train(const char *product, const char *command,
                            struct peer_training *ret_training,
                            struct weir_error *err) WEIR_MUST_USE;

/* Returns "SCRIPT ARGUMENTS" as a command, to be freed. */
char *peer_command(const char *script, const char *arguments);

#endif
