/* The plan of a pipeline's batches as people are told it: by `weir plan`, and in the event `plan`. */
#ifndef ORCHESTRATOR_VALUES_PLAN_JSON_H
#define ORCHESTRATOR_VALUES_PLAN_JSON_H

#include "core/wire/wire.h"

#include <jansson.h>

/* {"pipeline", "run", "state", "why", …} as docs/reference/json.md has it; NULL when the plan's columns do not fit each
 * other. */
json_t *orchestrator_plan_json(const char *pipeline, int64_t run,
                               const struct msg_plan_is *plan) WEIR_MUST_USE;

#endif
