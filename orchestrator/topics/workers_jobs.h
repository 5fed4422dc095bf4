/* How each run in use is scaled, out of what the dispatcher says of the pool. */
#ifndef ORCHESTRATOR_TOPICS_WORKERS_JOBS_H
#define ORCHESTRATOR_TOPICS_WORKERS_JOBS_H

#include "core/wire/wire.h"

#include <jansson.h>
#include <stdbool.h>

/* True when its columns have a row for each job. */
bool orchestrator_topic_scaling_is_whole(const struct msg_workers_are *pool);
/* Returns the scaling of one job. */
json_t *orchestrator_topic_scaling_json(const struct msg_workers_are *pool, size_t job);

#endif
