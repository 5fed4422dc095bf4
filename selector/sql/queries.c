/* The statements of queries.def as the table that core/db prepares. */
#include "selector/sql/queries.h"

const struct weir_query SELECTOR_QUERIES[SELECTOR_QUERY_COUNT] = {
#define QUERY(name, sql) {#name, sql},
#include "selector/sql/queries.def"
#undef QUERY
};
