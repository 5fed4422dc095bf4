/* Events of the platform posted to others. Each hook has a cursor over the events in Postgres: those behind it are
 * posted one after the other, each until it is taken, and only then the cursor goes on. So each arrives at least once
 * and in order, whatever dies meanwhile, and nothing queues in memory. The loop never waits: a thread posts. */
#ifndef ORCHESTRATOR_WEBHOOKS_WEBHOOKS_H
#define ORCHESTRATOR_WEBHOOKS_WEBHOOKS_H

#include "core/config/yaml.h"
#include "orchestrator/context/context.h"

#include <jansson.h>

struct webhooks;

/* `hooks`: the section that was checked (orchestrator/config/hooks.h), borrowed; NULL: there are none. */
enum weir_status orchestrator_webhooks_open(struct context *context,
                                            const struct weir_yaml_node *hooks,
                                            struct webhooks **ret_webhooks,
                                            struct weir_error *err) WEIR_MUST_USE;
void orchestrator_webhooks_close(struct webhooks *webhooks); /* NULL is fine */

/* How each stands, as `weir webhooks` shows it. */
enum weir_status orchestrator_webhooks_json(const struct webhooks *webhooks, json_t **ret_json,
                                            struct weir_error *err) WEIR_MUST_USE;

#endif
