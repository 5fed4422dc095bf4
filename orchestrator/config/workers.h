/* How many workers there may be: the system file's `workers`, a number or bounds. */
#ifndef ORCHESTRATOR_CONFIG_WORKERS_H
#define ORCHESTRATOR_CONFIG_WORKERS_H

#include "core/config/schema.h"

#include <stdint.h>

enum { ORCHESTRATOR_WORKERS_MAX = 200 };

struct orchestrator_workers {
    uint32_t min, max; /* of the pool; equal: so many, always */
    uint32_t host_max; /* beside the trainers; 0: none */
};

/* `node` NULL or null: the default. `worker_hour`: price of a worker of the pool; 0: none is given. INVALID with
 * file:line:column. */
enum weir_status orchestrator_workers_read(const struct weir_yaml_node *node, double worker_hour,
                                           struct orchestrator_workers *ret_workers,
                                           struct weir_error *err) WEIR_MUST_USE;
/* Appends the reference of its keys. */
void orchestrator_workers_describe(struct weir_buf *out);

#endif
