/* A comparison as JSON, for `weir`, pages and files (docs/reference/json.md). */
#ifndef ORCHESTRATOR_COMPARING_TELLING_H
#define ORCHESTRATOR_COMPARING_TELLING_H

#include "orchestrator/comparing/comparisons.h"

#include <jansson.h>

/* {"comparison", "file", "state", "progress"}: how far it is. */
json_t *orchestrator_comparison_brief(const struct comparisons *comparisons,
                                      const struct comparison *comparison);
/* The same with the grid, every cell, and what the cells say together. */
enum weir_status orchestrator_comparison_tell(const struct comparisons *comparisons,
                                              const struct comparison *comparison,
                                              json_t **ret_json,
                                              struct weir_error *err) WEIR_MUST_USE;

#endif
