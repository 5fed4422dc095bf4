/* Address of the platform and name of the run, as options and environment of a loop say them; and errors as a loop is
 * given them. */
#ifndef WEIR_TRAINER_CLIENT_OPTIONS_H
#define WEIR_TRAINER_CLIENT_OPTIONS_H

#include "core/base/error.h"
#include "core/rpc/pass.h"

#include <weir/client.h>

/* Returns WEIR_TOKEN, the token of the run that this process was started for, or "". Borrowed. */
const char *trainer_options_token(void);
/* The task's run, else the option, else WEIR_RUN. INVALID; UNSUPPORTED for options of another interface. */
enum weir_status trainer_options_run(const struct weir_client_options *options, uint64_t *ret_run,
                                     struct weir_error *err) WEIR_MUST_USE;
/* The options, else WEIR_RANK and WEIR_RANKS, else 0 of 1. INVALID. */
enum weir_status trainer_options_rank(const struct weir_client_options *options, uint32_t *ret_rank,
                                      uint32_t *ret_ranks, struct weir_error *err) WEIR_MUST_USE;
/* The option, else what the task has, else whether WEIR_DIGESTS is set. */
bool trainer_options_digests(const struct weir_client_options *options);
/* Reads the pass that WEIR_KEY names: the platform is elsewhere then, unless the options have a socket directory.
 * Without one `*ret_pass` stays empty. Errors are those of weir_pass_read(). */
enum weir_status trainer_options_pass(const struct weir_client_options *options,
                                      struct weir_pass *ret_pass,
                                      struct weir_error *err) WEIR_MUST_USE;
/* `given`, or the address of a service that follows from the pass, or NAME.sock in the socket directory, or NULL. The
 * caller frees it. INVALID: the pass has no good address. */
enum weir_status trainer_options_endpoint(const struct weir_client_options *options,
                                          const struct weir_pass *pass, const char *given,
                                          const char *name, char **ret_endpoint,
                                          struct weir_error *err) WEIR_MUST_USE;
/* INVALID: the loop has not said where the platform is. */
enum weir_status trainer_options_no_platform(struct weir_error *err) WEIR_MUST_USE;
int64_t trainer_options_timeout_ms(const struct weir_client_options *options);
/* The monotonic time at which a wait of `timeout_ms` from now is over; INT64_MAX for negative ones: never. */
int64_t trainer_options_end_ms(int64_t timeout_ms);

/* Copies `err` for the loop (NULL: it does not want it) and returns its status. */
enum weir_client_status trainer_client_give(const struct weir_error *err,
                                            struct weir_client_error *ret_error);

#endif
