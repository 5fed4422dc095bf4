/* The statements of queries.def, by number. */
#ifndef SELECTOR_SQL_QUERIES_H
#define SELECTOR_SQL_QUERIES_H

#include "core/db/db.h"

enum selector_query {
#define QUERY(name, sql) Q_##name,
#include "selector/sql/queries.def"
#undef QUERY
    SELECTOR_QUERY_COUNT
};

extern const struct weir_query SELECTOR_QUERIES[SELECTOR_QUERY_COUNT];
extern const struct weir_migration SELECTOR_MIGRATIONS[];
extern const size_t SELECTOR_MIGRATIONS_count;

#endif
