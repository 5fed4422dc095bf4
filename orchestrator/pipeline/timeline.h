/* The time from data to model, step by step, as a trigger's row keeps it: each time was committed
 * with the edge it is of. */
#ifndef ORCHESTRATOR_PIPELINE_TIMELINE_H
#define ORCHESTRATOR_PIPELINE_TIMELINE_H

#include "core/db/db.h"

#include <jansson.h>

/* From seven columns of a row, `column` the first: arrived, fired, sealed, first_batch, trained,
 * stored, evaluated. An object of these, each a time or null, and "seconds": from the first to
 * where the model was stored, or null. */
json_t *pipeline_timeline_json(const struct weir_rows *rows, size_t row, int column);

#endif
