/* Numbered SQL files of a service, embedded at build time (weir_embed_sql in cmake/Targets.cmake). */
#ifndef WEIR_DB_MIGRATION_H
#define WEIR_DB_MIGRATION_H

#include <stddef.h>
#include <stdint.h>

struct weir_migration {
    uint32_t number;
    const char *name;
    const char *sql;
};

#endif
