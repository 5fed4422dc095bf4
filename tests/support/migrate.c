/* Waits for a server and brings a database to the schemas of all services, for the clusters that tests copy:
 * migrating an empty one costs more than most of what a test does with it. Usage: migrate CONNINFO */
#include "core/db/db.h"
#include "tests/support/postgres_ready.h"

#include <stdio.h>
#include <stdlib.h>

/* As weir_embed_sql() makes them; the headers that declare them name statements of several services alike. */
extern const struct weir_migration STORAGE_MIGRATIONS[], SELECTOR_MIGRATIONS[],
    PREPROCESS_MIGRATIONS[], orchestrator_migrations[];
extern const size_t STORAGE_MIGRATIONS_count, SELECTOR_MIGRATIONS_count,
    PREPROCESS_MIGRATIONS_count, orchestrator_migrations_count;

static void migrate(const char *conninfo, const char *schema,
                    const struct weir_migration *migrations, size_t count)
{
    WEIR_AUTO(weir_db) db = NULL;
    struct weir_error err;
    enum weir_status status = weir_db_open(conninfo, schema, NULL, 0, &db, &err);
    if (status == WEIR_OK)
        status = weir_db_migrate(db, migrations, count, &err);
    if (status == WEIR_OK)
        return;
    fprintf(stderr, "migrate: %s\n", err.text);
    exit(EXIT_FAILURE);
}

/* Servers that find it undone do it with every row that they look at, in every copy. */
static void freeze_catalogs(const char *conninfo)
{
    PGconn *conn = PQconnectdb(conninfo);
    PGresult *done = PQexec(conn, "VACUUM (FREEZE, ANALYZE) pg_attrdef, pg_attribute, pg_class, "
                                  "pg_constraint, pg_depend, pg_index, pg_type");
    if (PQresultStatus(done) != PGRES_COMMAND_OK) {
        (void)fprintf(stderr, "migrate: %s", PQerrorMessage(conn));
        exit(EXIT_FAILURE);
    }
    PQclear(done);
    PQfinish(conn);
}

int main(int argc, char **argv)
{
    if (argc != 2) {
        fprintf(stderr, "usage: migrate CONNINFO\n");
        return 2;
    }
    if (!postgres_await(argv[1], 0)) {
        fprintf(stderr, "migrate: no server answers at '%s'\n", argv[1]);
        return EXIT_FAILURE;
    }
    migrate(argv[1], "storage", STORAGE_MIGRATIONS, STORAGE_MIGRATIONS_count);
    migrate(argv[1], "selector", SELECTOR_MIGRATIONS, SELECTOR_MIGRATIONS_count);
    migrate(argv[1], "preprocess", PREPROCESS_MIGRATIONS, PREPROCESS_MIGRATIONS_count);
    migrate(argv[1], "orchestrator", orchestrator_migrations, orchestrator_migrations_count);
    freeze_catalogs(argv[1]);
    return EXIT_SUCCESS;
}
