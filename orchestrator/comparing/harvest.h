/* The end of a cell: results go from the rows of its pipeline to the row of the cell. */
#ifndef ORCHESTRATOR_COMPARING_HARVEST_H
#define ORCHESTRATOR_COMPARING_HARVEST_H

#include "orchestrator/context/context.h"

/* Commits the end of a cell with what its pipeline has measured and cost. */
enum weir_status orchestrator_cell_harvest(struct context *context, int64_t comparison,
                                           const char *cell, int64_t pipeline,
                                           struct weir_error *err) WEIR_MUST_USE;

#endif
