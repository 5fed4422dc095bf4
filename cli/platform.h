/* The platform as `weir` sees it: that of a data directory, found where the directory's lock says, or started for this
 * one command and stopped again; or one elsewhere, which is only ever asked. Belongs to the one thread of weir. SIGINT
 * and SIGTERM end whatever waits here, so that a platform which was started is stopped in order. */
#ifndef CLI_PLATFORM_H
#define CLI_PLATFORM_H

#include "core/base/error.h"
#include "core/loop/loop.h"

#include <jansson.h>
#include <stdint.h>

struct cli_place;
struct cli_platform;
struct weir_rpc_peer;

/* Opens the platform of a place that was found, which outlives it. Elsewhere: TIMEOUT when nobody answers, DENIED when
 * the key is not let in. On this host: INVALID when there is no such directory or it holds nothing of Weir; DENIED when
 * it belongs to somebody else; TIMEOUT or UNAVAILABLE, with the reason, when nobody comes to answer. Here and below,
 * STALE: whoever served stopped before it answered, and opening again will help. */
enum weir_status cli_platform_open(const struct cli_place *place,
                                   struct cli_platform **ret_platform,
                                   struct weir_error *err) WEIR_MUST_USE;
/* The data directory, in caller's memory, of the platform whose orchestrator serves `endpoint` on
 * this host. TIMEOUT when nobody answers there. */
enum weir_status cli_platform_find(const char *endpoint, char **ret_data_dir,
                                   struct weir_error *err) WEIR_MUST_USE;
/* Stops the platform if it was started here, and waits for that. */
void cli_platform_close(struct cli_platform *platform);
WEIR_DEFINE_AUTO(cli_platform, cli_platform_close)

/* True when the platform was started here, and so ends with this command. */
bool cli_platform_is_own(const struct cli_platform *platform);

/* Asks one topic; `arguments` NULL: none. The refusal's text is complete for a person. */
enum weir_status cli_platform_request(struct cli_platform *platform, const char *topic,
                                      const json_t *arguments, json_t **ret_answer,
                                      struct weir_error *err) WEIR_MUST_USE;
/* Returns the loop of its requests, for further peers, which must be closed before the platform is. */
struct weir_loop *cli_platform_loop(const struct cli_platform *platform);
/* Lets the loop run until something happens, for at most `wait_ms`. UNAVAILABLE as below; STALE when whoever served has
 * stopped. */
enum weir_status cli_platform_step(struct cli_platform *platform, int64_t wait_ms,
                                   struct weir_error *err) WEIR_MUST_USE;
/* Asks all that `ask` wants to know of the platform; again from its front, with every answer thrown away, when whoever
 * served it stopped meanwhile: every request may be sent again. */
typedef enum weir_status cli_platform_ask_fn(struct cli_platform *platform, void *owner,
                                             struct weir_error *err);
enum weir_status cli_platform_ask(const struct cli_place *place, cli_platform_ask_fn *ask,
                                  void *owner, struct weir_error *err) WEIR_MUST_USE;
/* Waits until somebody serves the place again. TIMEOUT; UNAVAILABLE when the person lost patience. */
enum weir_status cli_platform_await(const struct cli_place *place, int64_t patience_ms,
                                    struct weir_error *err) WEIR_MUST_USE;
/* The same for a day, and tells on stderr whom it waits for. */
enum weir_status cli_platform_await_return(const struct cli_place *place,
                                           struct weir_error *err) WEIR_MUST_USE;
/* Connects to storage: at `endpoint` on this host, as the orchestrator has named it, or elsewhere where the place
 * says. */
enum weir_status cli_platform_connect(const struct cli_platform *platform, const char *endpoint,
                                      struct weir_rpc_peer **ret_peer,
                                      struct weir_error *err) WEIR_MUST_USE;
/* Lets time pass; UNAVAILABLE when the person lost patience or the platform ended. */
enum weir_status cli_platform_pause(struct cli_platform *platform, int64_t pause_ms,
                                    struct weir_error *err) WEIR_MUST_USE;

#endif
