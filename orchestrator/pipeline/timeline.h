/* The time from data to model, step by step, as a trigger's row keeps it: each time was committed
 * with the edge it is of. */
#ifndef ORCHESTRATOR_PIPELINE_TIMELINE_H
#define ORCHESTRATOR_PIPELINE_TIMELINE_H

#include "core/db/db.h"

#include <jansson.h>

/* From the columns arrived_us, fired_us, sealed_us, first_batch_us, trained_us, stored_us, evaluated_us and
 * hidden_us of a row. An object of the times without "_us", each a time or null, "seconds": from the first to
 * where the model was stored, or null, and "hidden_seconds": how much of that the trigger before was still
 * under way. `stored_us`: of a model that is being stored; 0: as the row has it. */
json_t *orchestrator_pipeline_timeline_json(const struct weir_rows *rows, size_t row,
                                            int64_t stored_us);

#endif
