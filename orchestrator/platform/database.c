/* Makes the database of the platform, within a bound that holds for a server that is stuck, too: it is asked from the
 * loop, which has signals to hear. */
#include "orchestrator/platform/database.h"

#include "core/base/clock.h"

#include <errno.h>
#include <inttypes.h>
#include <libpq-fe.h>
#include <poll.h>
#include <string.h>

static bool await(const PGconn *connection, short events, int64_t end_ms)
{
    struct pollfd watched = {.fd = PQsocket(connection), .events = events};
    for (int64_t now_ms = weir_now_ms(); now_ms < end_ms; now_ms = weir_now_ms()) {
        int found = poll(&watched, 1, (int)(end_ms - now_ms));
        if (found > 0)
            return true;
        if (found < 0 && errno != EINTR)
            return false;
    }
    return false;
}

static bool connect_within(PGconn *connection, int64_t end_ms)
{
    PostgresPollingStatusType wanted =
        PQstatus(connection) != CONNECTION_BAD ? PGRES_POLLING_WRITING : PGRES_POLLING_FAILED;
    while (wanted == PGRES_POLLING_READING || wanted == PGRES_POLLING_WRITING) {
        if (!await(connection, wanted == PGRES_POLLING_READING ? POLLIN : POLLOUT, end_ms))
            return false;
        wanted = PQconnectPoll(connection);
    }
    return wanted == PGRES_POLLING_OK;
}

/* Returns the result of one statement; NULL: none came in time. */
static PGresult *run_within(PGconn *connection, const char *sql, int64_t end_ms)
{
    PGresult *newest = NULL;
    bool waits = PQsendQuery(connection, sql) == 1;
    while (waits) {
        while (waits && PQisBusy(connection))
            waits = await(connection, POLLIN, end_ms) && PQconsumeInput(connection) == 1;
        PGresult *result = waits ? PQgetResult(connection) : NULL;
        if (waits && result == NULL)
            return newest;
        PQclear(newest);
        newest = result;
    }
    PQclear(newest);
    return NULL;
}

static bool make(PGconn *connection, int64_t end_ms)
{
    if (!connect_within(connection, end_ms))
        return false;
    PGresult *found =
        run_within(connection, "SELECT FROM pg_database WHERE datname = 'weir'", end_ms);
    bool is_fine = PQresultStatus(found) == PGRES_TUPLES_OK;
    bool is_there = is_fine && PQntuples(found) > 0;
    PQclear(found);
    if (!is_fine || is_there)
        return is_fine;
    PGresult *made = run_within(connection, "CREATE DATABASE weir", end_ms);
    is_fine = PQresultStatus(made) == PGRES_COMMAND_OK;
    PQclear(made);
    return is_fine;
}

/* The first connection to a database reads its catalogs for all that come later: that of another one is in vain. */
static bool is_there(const char *conninfo, int64_t end_ms)
{
    PGconn *connection = PQconnectStart(conninfo);
    bool is_connected = connect_within(connection, end_ms);
    PQfinish(connection);
    return is_connected;
}

enum weir_status orchestrator_database_make(const char *conninfo, const char *admin_conninfo,
                                            int64_t within_ms, struct weir_error *err)
{
    int64_t end_ms = weir_now_ms() + within_ms;
    if (is_there(conninfo, end_ms))
        return WEIR_OK;
    PGconn *connection = PQconnectStart(admin_conninfo);
    enum weir_status status = WEIR_OK;
    if (!make(connection, end_ms)) {
        const char *why = PQerrorMessage(connection);
        if (weir_now_ms() >= end_ms)
            status = weir_fail(
                err, WEIR_UNAVAILABLE,
                "Postgres: cannot make the database: no answer within %" PRId64 " ms", within_ms);
        else
            status = weir_fail(err, WEIR_UNAVAILABLE, "Postgres: cannot make the database: %.*s",
                               (int)strcspn(why, "\n"), why);
    }
    PQfinish(connection);
    return status;
}
