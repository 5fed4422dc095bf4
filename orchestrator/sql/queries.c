/* The statements of sql/queries.def as the table that core/db prepares. */
#include "orchestrator/sql/queries.h"

const struct weir_query ORCHESTRATOR_QUERIES[ORCHESTRATOR_QUERY_COUNT] = {
#define QUERY(name, sql) {#name, sql},
#include "orchestrator/sql/queries.def"
#undef QUERY
};
