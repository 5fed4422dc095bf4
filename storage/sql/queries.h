/* The statements of storage by number, from sql/queries.def. */
#ifndef WEIR_STORAGE_QUERIES_H
#define WEIR_STORAGE_QUERIES_H

#include "core/db/db.h"

enum storage_query {
#define QUERY(name, sql) Q_##name,
#include "storage/sql/queries.def"
#undef QUERY
    STORAGE_QUERY_COUNT
};

extern const struct weir_query STORAGE_QUERIES[STORAGE_QUERY_COUNT];

/* The numbered files of sql/, embedded when built. */
extern const struct weir_migration STORAGE_MIGRATIONS[];
extern const size_t STORAGE_MIGRATIONS_count;

#endif
