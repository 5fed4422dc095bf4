/* Wiping the memory of Weir's processes, once for all erasures that wait for it: each process is asked to drop what it
 * keeps for speed and to connect again, the orchestrator last. Released memory is wiped at once (core/base/wiping.c),
 * so that nothing erased can be read from a process afterwards. The receipt names the processes that were not wiped.
 * Owned by: struct erasures. */
#ifndef ORCHESTRATOR_ERASURES_WIPING_H
#define ORCHESTRATOR_ERASURES_WIPING_H

#include "orchestrator/context/context.h"

#include <jansson.h>

struct wiping;
struct run_watch;

struct wiping *orchestrator_wiping_new(struct context *context, const struct run_watch *watch);
void orchestrator_wiping_free(struct wiping *wiping);
/* A wipe that begins from now on; its number. */
uint64_t orchestrator_wiping_wanted(struct wiping *wiping);
bool orchestrator_wiping_is_done(const struct wiping *wiping, uint64_t number);
/* {`wiped`: names, `not_wiped`: list of {`process`, `why`}} of the newest wipe, the caller's. */
json_t *orchestrator_wiping_json(const struct wiping *wiping);

#endif
