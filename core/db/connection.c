/* Opening, losing and reopening the connection; errors of the server as our statuses. */
#include "core/db/connection.h"

#include "core/base/fault.h"
#include "core/base/memory.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define CONNECT_TIMEOUT_S "2" /* libpq's smallest; where the user says nothing */

/* Notices ("relation exists, skipping") are for people at psql. */
static void ignore_notice(void *owner, const char *message)
{
    (void)owner;
    (void)message;
}

/* libpq ends its messages with a newline, and may write several lines. */
static int first_line(const char *message)
{
    return (int)strcspn(message, "\n");
}

void weir_db_drop(struct weir_db *db)
{
    if (db->conn != NULL)
        PQfinish(db->conn);
    db->conn = NULL;
    for (size_t i = 0; i < db->query_count; i++)
        db->prepared[i].is_prepared = false;
}

static enum weir_status set_session(struct weir_db *db, struct weir_error *err)
{
    char *schema = PQescapeIdentifier(db->conn, db->schema, strlen(db->schema));
    weir_require(schema != NULL);
    WEIR_AUTO_FREE char *sql =
        weir_format("SET search_path TO %s; " WEIR_DB_BOUND "; " WEIR_DB_PLANS, schema);
    PQfreemem(schema);
    return weir_db_simple(db, sql, "session", err);
}

/* The words of libpq's own and of the server's, but for a password that stands in them. */
static enum weir_status fail_to_connect(const PGconn *conn, bool is_in_time, struct weir_error *err)
{
    const char *message = is_in_time ? PQerrorMessage(conn) : "no answer within connect_timeout";
    const char *password = PQpass(conn);
    if (password != NULL && password[0] != '\0' && strstr(message, password) != NULL)
        message = "why is not shown, since the password stands in it";
    return weir_fail(err, WEIR_UNAVAILABLE, "Postgres cannot be reached: %.*s", first_line(message),
                     message);
}

const char *weir_db_option(const PQconninfoOption *options, const char *keyword)
{
    while (options->keyword != NULL && strcmp(options->keyword, keyword) != 0)
        options++;
    return options->val;
}

/* A time limit of the user's: in the connection string, the environment, or the service that one of them names (service
 * files are libpq's to read: what they say of it is all there is). */
static bool has_timeout(const char *conninfo)
{
    PQconninfoOption *parsed = PQconninfoParse(conninfo, NULL);
    bool is_said = parsed != NULL && (weir_db_option(parsed, "connect_timeout") != NULL ||
                                      weir_db_option(parsed, "service") != NULL);
    PQconninfoFree(parsed);
    return is_said || getenv("PGCONNECT_TIMEOUT") != NULL || getenv("PGSERVICE") != NULL;
}

enum weir_status weir_db_connect(struct weir_db *db, struct weir_error *err)
{
    const char *const keys[] = {"dbname", "fallback_application_name",
                                has_timeout(db->conninfo) ? NULL : "connect_timeout", NULL};
    const char *const values[] = {db->conninfo, db->schema, CONNECT_TIMEOUT_S, NULL};
    if (weir_fault("db.connect"))
        return weir_fail(err, WEIR_UNAVAILABLE, "Postgres: fault db.connect");
    bool is_in_time;
    db->conn = weir_db_dial(db, keys, values, &is_in_time);
    if (PQstatus(db->conn) != CONNECTION_OK) {
        enum weir_status status = fail_to_connect(db->conn, is_in_time, err);
        weir_db_drop(db);
        return status;
    }
    PQsetNoticeProcessor(db->conn, ignore_notice, NULL);
    weir_require(PQsetnonblocking(db->conn, db->loop != NULL) == 0);
    return set_session(db, err);
}

enum weir_status weir_db_ensure(struct weir_db *db, struct weir_error *err)
{
    if (db->is_waiting)
        return weir_fail(err, WEIR_UNAVAILABLE, "another statement is waited for");
    if (db->conn != NULL && PQstatus(db->conn) == CONNECTION_OK)
        return WEIR_OK;
    weir_db_drop(db);
    if (db->in_transaction)
        return weir_fail(err, WEIR_UNAVAILABLE,
                         "the connection to Postgres was lost inside a transaction");
    return weir_db_connect(db, err);
}

/* SQLSTATE classes after which the same call may succeed: the server went away, is starting or stopping, has no
 * disk, memory or connection left, or two transactions stood in each other's way. */
static bool may_be_repeated(const char *state)
{
    static const char *const STATES[] = {"08",    "57P01", "57P02", "57P03", "53100",
                                         "53200", "53300", "40001", "40P01", "55P03"};
    for (size_t i = 0; i < WEIR_COUNT(STATES); i++) {
        if (strncmp(state, STATES[i], strlen(STATES[i])) == 0)
            return true;
    }
    return false;
}

/* An error without SQLSTATE is libpq's own, and a FATAL one is the server's last word; the connection's
 * status may say so only later. */
static bool is_lost(const struct weir_db *db, const PGresult *result)
{
    const char *severity = PQresultErrorField(result, PG_DIAG_SEVERITY_NONLOCALIZED);
    if (db->conn == NULL || PQstatus(db->conn) != CONNECTION_OK || severity == NULL)
        return true;
    return strcmp(severity, "FATAL") == 0 || strcmp(severity, "PANIC") == 0 ||
           PQresultErrorField(result, PG_DIAG_SQLSTATE) == NULL;
}

enum weir_status weir_db_lose(struct weir_db *db, const char *what, struct weir_error *err)
{
    weir_db_drop(db);
    return weir_fail(err, WEIR_UNAVAILABLE, "%s: the connection to Postgres is lost", what);
}

enum weir_status weir_db_check(struct weir_db *db, const PGresult *result, const char *what,
                               struct weir_error *err)
{
    ExecStatusType found = PQresultStatus(result);
    if (found == PGRES_COMMAND_OK || found == PGRES_TUPLES_OK || found == PGRES_EMPTY_QUERY)
        return WEIR_OK;
    if (is_lost(db, result))
        return weir_db_lose(db, what, err);
    const char *state = PQresultErrorField(result, PG_DIAG_SQLSTATE);
    const char *message = PQresultErrorField(result, PG_DIAG_MESSAGE_PRIMARY);
    message = message != NULL ? message : "no message";
    enum weir_status status = WEIR_INTERNAL;
    if (strcmp(state, "23505") == 0)
        status = WEIR_EXISTS;
    else if (may_be_repeated(state))
        status = WEIR_UNAVAILABLE;
    return weir_fail(err, status, "%s: %.*s (%s)", what, first_line(message), message, state);
}

enum weir_status weir_db_check_commit(struct weir_db *db, PGresult *result, const char *what,
                                      struct weir_error *err)
{
    enum weir_status status = weir_db_check(db, result, what, err);
    if (status == WEIR_OK && strcmp(PQcmdStatus(result), "ROLLBACK") == 0)
        status = weir_fail(err, WEIR_INTERNAL,
                           "%s: a statement of this transaction had failed before", what);
    return status;
}

enum weir_status weir_db_simple(struct weir_db *db, const char *sql, const char *what,
                                struct weir_error *err)
{
    PGresult *result = weir_db_await(db, PQsendQuery(db->conn, sql));
    enum weir_status status = weir_db_check(db, result, what, err);
    PQclear(result);
    return status;
}

/* A password with signs that a URL gives a meaning to ends up in parts of it that errors quote. */
static bool is_torn(const PQconninfoOption *parsed)
{
    const char *port = weir_db_option(parsed, "port"), *host = weir_db_option(parsed, "host");
    const char *database = weir_db_option(parsed, "dbname");
    return (port != NULL && port[strspn(port, "0123456789,")] != '\0') ||
           (host != NULL && host[0] != '@' && strchr(host, '@') != NULL) ||
           (database != NULL && strchr(database, '@') != NULL);
}

/* libpq's own complaint quotes the text. */
enum weir_status weir_db_check_conninfo(const char *conninfo, struct weir_error *err)
{
    char *complaint = NULL;
    PQconninfoOption *parsed = PQconninfoParse(conninfo, &complaint);
    PQfreemem(complaint);
    if (parsed == NULL || is_torn(parsed) || strlen(conninfo) > WEIR_CONNINFO_BYTES_MAX) {
        PQconninfoFree(parsed);
        return weir_fail(err, WEIR_INVALID,
                         "the connection to Postgres cannot be understood: expected 'host=… "
                         "dbname=… user=…', with values in quotes where they hold blanks, or "
                         "postgresql://USER@HOST/DATABASE, with %%XX where they hold signs; at "
                         "most %d bytes",
                         WEIR_CONNINFO_BYTES_MAX);
    }
    PQconninfoFree(parsed);
    return WEIR_OK;
}

void weir_db_renew(struct weir_db *db)
{
    if (!db->in_transaction && !db->is_waiting)
        weir_db_drop(db);
}

void weir_db_close(struct weir_db *db)
{
    if (db == NULL)
        return;
    weir_db_drop(db);
    free(db->batch);
    free(db->prepared);
    free(db->conninfo);
    free(db->schema);
    free(db);
}
