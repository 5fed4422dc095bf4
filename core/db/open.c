/* Opening a database, whose connection must have a session of its own. Statements are prepared once per connection, and
 * time limits, the search path and advisory locks are its session's: behind a pooler that lends a session for a
 * transaction (pgbouncer: pool_mode=transaction) all of that is lost, sooner or later. Poolers are known by what they
 * do. */
#include "core/base/clock.h"
#include "core/base/memory.h"
#include "core/db/connection.h"

#include <poll.h>
#include <stdlib.h>

enum {
    ROUNDS = 4, /* a pooler that takes its sessions in turn shows another one in the second */
    ANSWER_MS = 10000, /* for a session of the server, where the pooler has none left */
};

static const char WHICH[] = "SELECT pg_backend_pid()";

static enum weir_status refuse(struct weir_error *err)
{
    return weir_fail(err, WEIR_UNSUPPORTED,
                     "Postgres is reached through a pooler that changes sessions between "
                     "transactions, and Weir keeps prepared statements, settings and locks in its "
                     "session: set pool_mode = session for this database (pgbouncer), or connect "
                     "to Postgres itself");
}

/* Until the result can be taken without waiting; false: not within ANSWER_MS, or the connection is lost. */
static bool await_result(PGconn *conn)
{
    int64_t end_ms = weir_now_ms() + ANSWER_MS;
    while (PQisBusy(conn)) {
        int64_t left_ms = end_ms - weir_now_ms();
        struct pollfd watched = {.fd = PQsocket(conn), .events = POLLIN};
        if (left_ms <= 0 || poll(&watched, 1, (int)left_ms) <= 0 || PQconsumeInput(conn) != 1)
            return false;
    }
    return true;
}

/* Number of the server's process behind the connection at this moment. UNAVAILABLE when no answer comes. */
static enum weir_status ask(struct weir_db *db, int *ret_process, struct weir_error *err)
{
    if (PQsendQuery(db->conn, WHICH) != 1 || !await_result(db->conn)) {
        weir_db_drop(db);
        return weir_fail(err, WEIR_UNAVAILABLE,
                         "the pooler in front of Postgres gives no session: has it one for each of "
                         "Weir's connections (pgbouncer: default_pool_size)?");
    }
    PGresult *result = PQgetResult(db->conn);
    enum weir_status status = weir_db_check(db, result, "session", err);
    if (status == WEIR_OK)
        *ret_process = atoi(PQgetvalue(result, 0, 0));
    PQclear(result);
    while (db->conn != NULL && (result = PQgetResult(db->conn)) != NULL)
        PQclear(result);
    return status;
}

/* Two clients that are both connected and have the same session share it, and one that has two has none. */
static enum weir_status compare(struct weir_db *one, struct weir_db *other, struct weir_error *err)
{
    int first = 0;
    enum weir_status status = ask(one, &first, err);
    for (int round = 0; round < ROUNDS && status == WEIR_OK; round++) {
        int mine = 0, others = 0;
        status = ask(other, &others, err);
        if (status == WEIR_OK)
            status = ask(one, &mine, err);
        if (status == WEIR_OK && (mine != first || mine == others))
            status = refuse(err);
    }
    return status;
}

/* A pooler draws the number that a client cancels with. */
static bool is_direct(const struct weir_db *db, int process)
{
    return PQbackendPID(db->conn) == process;
}

/* Without a pooler, this costs one short statement. */
static enum weir_status check_session(struct weir_db *db, struct weir_error *err)
{
    int process = 0;
    enum weir_status status = ask(db, &process, err);
    if (status != WEIR_OK || is_direct(db, process))
        return status;
    struct weir_db other = {.conninfo = db->conninfo, .schema = db->schema};
    status = weir_db_connect(&other, err);
    if (status == WEIR_OK)
        status = compare(db, &other, err);
    weir_db_drop(&other);
    return status;
}

enum weir_status weir_db_open(const char *conninfo, const char *schema,
                              const struct weir_query *queries, size_t count,
                              struct weir_db **ret_db, struct weir_error *err)
{
    WEIR_AUTO(weir_db) db = weir_calloc(1, sizeof(*db));
    db->conninfo = weir_strdup(conninfo);
    db->schema = weir_strdup(schema);
    db->queries = queries;
    db->query_count = count;
    db->prepared = weir_calloc(count > 0 ? count : 1, sizeof(*db->prepared));
    enum weir_status status = weir_db_check_conninfo(conninfo, err);
    if (status == WEIR_OK)
        status = weir_db_ensure(db, err);
    if (status == WEIR_OK)
        status = check_session(db, err);
    if (status != WEIR_OK)
        return status;
    *ret_db = WEIR_TAKE(db);
    return WEIR_OK;
}
