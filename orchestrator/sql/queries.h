/* The statements of sql/queries.def, by number. */
#ifndef ORCHESTRATOR_SQL_QUERIES_H
#define ORCHESTRATOR_SQL_QUERIES_H

#include "core/db/db.h"

enum orchestrator_query {
#define QUERY(name, sql) Q_##name,
#include "orchestrator/sql/queries.def"
#undef QUERY
    ORCHESTRATOR_QUERY_COUNT
};

extern const struct weir_query ORCHESTRATOR_QUERIES[ORCHESTRATOR_QUERY_COUNT];
extern const struct weir_migration orchestrator_migrations[];
extern const size_t orchestrator_migrations_count;

#endif
