/* Bringing a schema to what this program knows, one transaction per step. Numbers may have gaps, and a lower
 * one may come later: what counts is which numbers are recorded, and with which text. */
#include "core/db/connection.h"

#include "core/base/hash.h"
#include "core/base/memory.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char CREATE_TABLE[] = "CREATE TABLE IF NOT EXISTS migration ("
                                   "number bigint PRIMARY KEY, name text NOT NULL, "
                                   "applied_at timestamptz NOT NULL DEFAULT now(), "
                                   "checksum text)";
/* Recorded since a later version: NULL until the next start adopts the text that is known then. */
static const char ADD_CHECKSUM[] = "ALTER TABLE migration ADD COLUMN IF NOT EXISTS checksum text";

static enum weir_status create_schema(struct weir_db *db, struct weir_error *err)
{
    char *schema = PQescapeIdentifier(db->conn, db->schema, strlen(db->schema));
    weir_require(schema != NULL);
    WEIR_AUTO_FREE char *sql = weir_format("CREATE SCHEMA IF NOT EXISTS %s", schema);
    PQfreemem(schema);
    enum weir_status status = weir_db_simple(db, sql, "schema", err);
    if (status == WEIR_OK)
        status = weir_db_simple(db, CREATE_TABLE, "migration table", err);
    if (status == WEIR_OK)
        status = weir_db_simple(db, ADD_CHECKSUM, "migration table", err);
    return status;
}

static enum weir_status select_rows(struct weir_db *db, const char *sql,
                                    struct weir_rows **ret_rows, struct weir_error *err)
{
    PGresult *result = PQexecParams(db->conn, sql, 0, NULL, NULL, NULL, NULL, 1);
    enum weir_status status = weir_db_check(db, result, "migration table", err);
    if (status == WEIR_OK)
        *ret_rows = weir_rows_wrap(result);
    else
        PQclear(result);
    return status;
}

/* Checksum of the text of a migration. */
static void checksum_of(const struct weir_migration *migration, char text[WEIR_DIGEST_TEXT_MAX])
{
    struct weir_digest digest = weir_digest_of(weir_bytes_of(migration->sql));
    weir_digest_text(&digest, text);
}

static enum weir_status record(struct weir_db *db, const struct weir_migration *migration,
                               struct weir_error *err)
{
    char checksum[WEIR_DIGEST_TEXT_MAX];
    checksum_of(migration, checksum);
    WEIR_AUTO_FREE char *sql = weir_format(
        "INSERT INTO migration (number, name, checksum) VALUES (%" PRIu32 ", '%s', '%s') "
        "ON CONFLICT (number) DO UPDATE SET checksum = EXCLUDED.checksum",
        migration->number, migration->name, checksum);
    return weir_db_simple(db, sql, migration->name, err);
}

static enum weir_status apply(struct weir_db *db, const struct weir_migration *migration,
                              struct weir_error *err)
{
    enum weir_status status = weir_db_simple(db, migration->sql, migration->name, err);
    return status == WEIR_OK ? record(db, migration, err) : status;
}

static bool is_recorded(const struct weir_migration *migration, const struct weir_rows *rows,
                        size_t row)
{
    char checksum[WEIR_DIGEST_TEXT_MAX];
    checksum_of(migration, checksum);
    return strcmp(weir_rows_text(rows, row, "checksum"), checksum) == 0;
}

/* An applied migration says what the tables look like; with another text nobody knows what they do. */
static enum weir_status check_text(struct weir_db *db, const struct weir_migration *migration,
                                   const struct weir_rows *rows, struct weir_error *err)
{
    char checksum[WEIR_DIGEST_TEXT_MAX];
    if (weir_rows_is_null(rows, 0, "checksum"))
        return record(db, migration, err);
    if (is_recorded(migration, rows, 0))
        return WEIR_OK;
    checksum_of(migration, checksum);
    return weir_fail(err, WEIR_CORRUPT,
                     "migration %s was applied with another text (checksum %.8s) than this program "
                     "has (%.8s): run the Weir that made this store; a change to a schema is a new "
                     "number",
                     migration->name, weir_rows_text(rows, 0, "checksum"), checksum);
}

/* Two processes may start at once: the lock makes the second wait, and then find nothing left to do. */
static enum weir_status apply_if_missing(struct weir_db *db, const struct weir_migration *migration,
                                         struct weir_error *err)
{
    WEIR_AUTO_FREE char *sql =
        weir_format("SELECT checksum FROM migration WHERE number = %" PRIu32, migration->number);
    WEIR_AUTO(weir_rows) rows = NULL;
    enum weir_status status = weir_db_begin(db, err);
    if (status == WEIR_OK)
        status =
            weir_db_simple(db, "LOCK TABLE migration IN EXCLUSIVE MODE", "migration table", err);
    if (status == WEIR_OK)
        status = select_rows(db, sql, &rows, err);
    if (status == WEIR_OK)
        status = weir_rows_count(rows) == 0 ? apply(db, migration, err)
                                            : check_text(db, migration, rows, err);
    if (status == WEIR_OK)
        status = weir_db_commit(db, err);
    if (status != WEIR_OK)
        weir_db_rollback(db);
    return status;
}

static const struct weir_migration *find(int64_t number, const struct weir_migration *migrations,
                                         size_t count)
{
    for (size_t i = 0; i < count; i++) {
        if (migrations[i].number == number)
            return &migrations[i];
    }
    return NULL;
}

/* Every recorded number must be known here, not only the highest: between two known ones another program's
 * may lie. Returns in `ret_done` which ones there is nothing to do for. */
static enum weir_status check_numbers(struct weir_db *db, const struct weir_migration *migrations,
                                      size_t count, bool *ret_done, struct weir_error *err)
{
    WEIR_AUTO(weir_rows) rows = NULL;
    enum weir_status status = select_rows(
        db, "SELECT number, name, checksum FROM migration ORDER BY number DESC", &rows, err);
    for (size_t i = 0; status == WEIR_OK && i < weir_rows_count(rows); i++) {
        const struct weir_migration *known =
            find(weir_rows_i64(rows, i, "number"), migrations, count);
        if (known != NULL)
            ret_done[known - migrations] = is_recorded(known, rows, i);
        else
            status = weir_fail(err, WEIR_UNSUPPORTED,
                               "schema %s is at migration %s, which this program does not know (it "
                               "knows up to %" PRIu32 "): run a newer Weir",
                               db->schema, weir_rows_text(rows, i, "name"),
                               count > 0 ? migrations[count - 1].number : 0);
    }
    return status;
}

static enum weir_status migrate(struct weir_db *db, const struct weir_migration *migrations,
                                size_t count, struct weir_error *err)
{
    WEIR_AUTO_FREE bool *done = weir_calloc(count + 1, sizeof(*done));
    enum weir_status status = create_schema(db, err);
    if (status == WEIR_OK)
        status = check_numbers(db, migrations, count, done, err);
    for (size_t i = 0; i < count && status == WEIR_OK; i++) {
        if (!done[i])
            status = apply_if_missing(db, &migrations[i], err);
        if (status != WEIR_OK)
            weir_error_wrap(err, status, "schema %s", db->schema);
    }
    return status;
}

/* Not bounded by lock_timeout: who starts beside another waits for as long as that takes. */
enum weir_status weir_db_migrate(struct weir_db *db, const struct weir_migration *migrations,
                                 size_t count, struct weir_error *err)
{
    enum weir_status status = weir_db_ensure(db, err);
    if (status == WEIR_OK)
        status = weir_db_simple(db, "SET " WEIR_DB_LOCK_UNBOUND, "session", err);
    if (status == WEIR_OK)
        status = migrate(db, migrations, count, err);
    if (db->conn != NULL &&
        weir_db_simple(db, "SET " WEIR_DB_LOCK_BOUND, "session", NULL) != WEIR_OK)
        weir_db_drop(db);
    return status;
}
