/* Bringing a schema to the newest number, one transaction per step. */
#include "core/db/connection.h"

#include "core/base/memory.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char CREATE_TABLE[] = "CREATE TABLE IF NOT EXISTS migration ("
                                   "number bigint PRIMARY KEY, name text NOT NULL, "
                                   "applied_at timestamptz NOT NULL DEFAULT now())";

static enum weir_status create_schema(struct weir_db *db, struct weir_error *err)
{
    char *schema = PQescapeIdentifier(db->conn, db->schema, strlen(db->schema));
    weir_require(schema != NULL);
    WEIR_AUTO_FREE char *sql = weir_format("CREATE SCHEMA IF NOT EXISTS %s", schema);
    PQfreemem(schema);
    enum weir_status status = weir_db_simple(db, sql, "schema", err);
    if (status == WEIR_OK)
        status = weir_db_simple(db, CREATE_TABLE, "migration table", err);
    return status;
}

/* The one number that `sql` selects. */
static enum weir_status select_number(struct weir_db *db, const char *sql, int64_t *ret_number,
                                      struct weir_error *err)
{
    PGresult *result = PQexecParams(db->conn, sql, 0, NULL, NULL, NULL, NULL, 1);
    enum weir_status status = weir_db_check(db, result, "migration table", err);
    if (status != WEIR_OK) {
        PQclear(result);
        return status;
    }
    WEIR_AUTO(weir_rows) rows = weir_rows_wrap(result);
    *ret_number = weir_rows_i64(rows, 0, 0);
    return WEIR_OK;
}

static enum weir_status apply(struct weir_db *db, const struct weir_migration *migration,
                              struct weir_error *err)
{
    enum weir_status status = weir_db_simple(db, migration->sql, migration->name, err);
    if (status != WEIR_OK)
        return status;
    WEIR_AUTO_FREE char *sql =
        weir_format("INSERT INTO migration (number, name) VALUES (%" PRIu32 ", '%s')",
                    migration->number, migration->name);
    return weir_db_simple(db, sql, migration->name, err);
}

/* Two processes may start at once: the lock makes the second wait, and then find nothing left to do. */
static enum weir_status apply_if_missing(struct weir_db *db, const struct weir_migration *migration,
                                         struct weir_error *err)
{
    WEIR_AUTO_FREE char *sql =
        weir_format("SELECT count(*) FROM migration WHERE number = %" PRIu32, migration->number);
    int64_t applied = 0;
    enum weir_status status = weir_db_begin(db, err);
    if (status == WEIR_OK)
        status =
            weir_db_simple(db, "LOCK TABLE migration IN EXCLUSIVE MODE", "migration table", err);
    if (status == WEIR_OK)
        status = select_number(db, sql, &applied, err);
    if (status == WEIR_OK && applied == 0)
        status = apply(db, migration, err);
    if (status == WEIR_OK)
        status = weir_db_commit(db, err);
    if (status != WEIR_OK)
        weir_db_rollback(db);
    return status;
}

static enum weir_status check_number(struct weir_db *db, int64_t known, struct weir_error *err)
{
    int64_t applied = 0;
    enum weir_status status =
        select_number(db, "SELECT coalesce(max(number), 0) FROM migration", &applied, err);
    if (status == WEIR_OK && applied > known)
        status = weir_fail(err, WEIR_UNSUPPORTED,
                           "schema %s is at %" PRId64 ", this program knows up to %" PRId64
                           ": run a newer Weir",
                           db->schema, applied, known);
    return status;
}

enum weir_status weir_db_migrate(struct weir_db *db, const struct weir_migration *migrations,
                                 size_t count, struct weir_error *err)
{
    enum weir_status status = weir_db_ensure(db, err);
    if (status == WEIR_OK)
        status = create_schema(db, err);
    if (status == WEIR_OK)
        status = check_number(db, count > 0 ? migrations[count - 1].number : 0, err);
    for (size_t i = 0; i < count && status == WEIR_OK; i++) {
        status = apply_if_missing(db, &migrations[i], err);
        if (status != WEIR_OK)
            weir_error_wrap(err, status, "schema %s", db->schema);
    }
    return status;
}
