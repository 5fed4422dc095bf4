/* Waiting for Postgres, while the loop goes on with what does not need it. */
#include "core/base/clock.h"
#include "core/db/connection.h"
#include "core/loop/loop.h"

#include <poll.h>
#include <stdlib.h>
#include <string.h>

enum { FOREVER_MS = -1, CONNECT_MIN_S = 2 /* as libpq has it */ };

static int64_t left_until(int64_t end_ms)
{
    int64_t now_ms = weir_now_ms();
    return end_ms == FOREVER_MS ? FOREVER_MS : end_ms > now_ms ? end_ms - now_ms : 0;
}

/* False: the time is over. A wait that fails is over at once: what is called next finds out why. */
static bool wait_for(struct weir_db *db, const PGconn *conn, short poll_events, int64_t wait_ms)
{
    struct pollfd watched = {.fd = PQsocket(conn), .events = poll_events};
    bool is_ready;
    if (watched.fd < 0)
        return true;
    db->is_waiting = true;
    if (db->loop != NULL)
        is_ready = weir_loop_wait(db->loop, watched.fd, poll_events, wait_ms);
    else
        is_ready = poll(&watched, 1, (int)wait_ms) != 0;
    db->is_waiting = false;
    return is_ready;
}

/* ---- results ---- */

/* The server may answer, and stop reading, before it has everything. */
void weir_db_flush(struct weir_db *db)
{
    while (PQflush(db->conn) > 0) {
        (void)wait_for(db, db->conn, POLLIN | POLLOUT, FOREVER_MS);
        if (PQconsumeInput(db->conn) != 1)
            return;
    }
}

bool weir_db_is_answered(struct weir_db *db, int64_t end_ms)
{
    while (PQisBusy(db->conn)) {
        if (!wait_for(db, db->conn, POLLIN, left_until(end_ms)) || PQconsumeInput(db->conn) != 1)
            return false;
    }
    return true;
}

PGresult *weir_db_next(struct weir_db *db)
{
    (void)weir_db_is_answered(db, FOREVER_MS); /* the result says so */
    return PQgetResult(db->conn);
}

/* A connection that is lost has a result that says so. */
PGresult *weir_db_await(struct weir_db *db, int is_sent)
{
    PGresult *last = NULL, *result;
    if (is_sent != 1)
        return NULL;
    weir_db_flush(db);
    while ((result = weir_db_next(db)) != NULL) {
        PQclear(last);
        last = result;
    }
    return last;
}

/* ---- connecting ---- */

static bool is_list(const PQconninfoOption *options, const char *keyword)
{
    const char *value = weir_db_option(options, keyword);
    return value != NULL && strchr(value, ',') != NULL;
}

/* Returns when a connection has to be there; -1: at any time, as libpq has it. */
static int64_t end_of(const PQconninfoOption *options)
{
    const char *timeout = weir_db_option(options, "connect_timeout");
    int64_t timeout_s = timeout != NULL ? atoi(timeout) : 0;
    if (timeout_s <= 0)
        return FOREVER_MS;
    return weir_now_ms() + 1000 * (timeout_s < CONNECT_MIN_S ? CONNECT_MIN_S : timeout_s);
}

/* Makes the connection in pieces. False: the time is over. */
static bool make(struct weir_db *db, PGconn *conn, int64_t end_ms)
{
    PostgresPollingStatusType state = PGRES_POLLING_WRITING;
    while (PQstatus(conn) != CONNECTION_BAD && state != PGRES_POLLING_OK &&
           state != PGRES_POLLING_FAILED) {
        short poll_events = state == PGRES_POLLING_READING ? POLLIN : POLLOUT;
        if (!wait_for(db, conn, poll_events, left_until(end_ms)))
            return false;
        state = PQconnectPoll(conn);
    }
    return true;
}

/* Of several hosts, libpq alone knows when it is time for the next one. */
PGconn *weir_db_dial(struct weir_db *db, const char *const *keys, const char *const *values,
                     bool *ret_in_time)
{
    PGconn *conn = db->loop != NULL ? PQconnectStartParams(keys, values, 1) : NULL;
    PQconninfoOption *options = conn != NULL ? PQconninfo(conn) : NULL;
    *ret_in_time = true;
    if (options == NULL || is_list(options, "host") || is_list(options, "hostaddr")) {
        PQconninfoFree(options);
        PQfinish(conn);
        return PQconnectdbParams(keys, values, 1);
    }
    *ret_in_time = make(db, conn, end_of(options));
    PQconninfoFree(options);
    return conn;
}

/* ---- what goes on ---- */

void weir_db_go_on_with(struct weir_db *db, struct weir_loop *loop)
{
    db->loop = loop;
    if (db->conn != NULL)
        weir_require(PQsetnonblocking(db->conn, loop != NULL) == 0);
}

void weir_db_go_on_now(struct weir_db *db)
{
    if (db->loop != NULL && db->conn != NULL)
        (void)wait_for(db, db->conn, POLLIN, 0);
}

bool weir_db_is_waiting(const struct weir_db *db)
{
    return db->is_waiting;
}
