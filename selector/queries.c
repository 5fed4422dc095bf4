/* The statements of sql/queries.def as the table that core/db prepares. */
#include "selector/queries.h"

const struct weir_query SELECTOR_QUERIES[SELECTOR_QUERY_COUNT] = {
#define QUERY(name, sql) {#name, sql},
#include "selector/sql/queries.def"
#undef QUERY
};
