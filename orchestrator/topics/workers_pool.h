/* The pool of workers, as `weir workers` shows it beside what they do. */
#ifndef ORCHESTRATOR_TOPICS_WORKERS_POOL_H
#define ORCHESTRATOR_TOPICS_WORKERS_POOL_H

#include "orchestrator/topics/topic.h"

/* null: its workers are somebody else's. */
json_t *orchestrator_topic_pool_json(const struct topics *topics);

#endif
