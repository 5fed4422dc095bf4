/* The statements of sql/queries.def as the table that core/db prepares. */
#include "storage/sql/queries.h"

const struct weir_query STORAGE_QUERIES[STORAGE_QUERY_COUNT] = {
#define QUERY(name, sql) {#name, sql},
#include "storage/sql/queries.def"
#undef QUERY
};
