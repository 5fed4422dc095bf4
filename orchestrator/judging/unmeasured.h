/* Evaluations that have measured nothing, which no metric tells of. */
#ifndef ORCHESTRATOR_JUDGING_UNMEASURED_H
#define ORCHESTRATOR_JUDGING_UNMEASURED_H

#include "orchestrator/judging/results.h"

#include <jansson.h>

/* Commits the event of an interval without samples: once, however many models were to be measured there. */
enum weir_status orchestrator_unmeasured_tell(struct context *context,
                                              const struct evaluation_result *empty,
                                              struct weir_error *err) WEIR_MUST_USE;
/* A list of the evaluations, less those on demand, of which no model was measured on a sample. */
enum weir_status orchestrator_unmeasured_names(struct context *context, int64_t pipeline,
                                               const struct orchestrator_config *config,
                                               json_t **ret_names,
                                               struct weir_error *err) WEIR_MUST_USE;
/* A list of the intervals that had no samples, as in their events: the newest of them, and how many there are. */
enum weir_status orchestrator_unmeasured_intervals(struct context *context, int64_t pipeline,
                                                   json_t **ret_intervals, int64_t *ret_count,
                                                   struct weir_error *err) WEIR_MUST_USE;

#endif
