/* Statements on a connection that the loop watches: see errand.h. */
#include "core/db/errand.h"

#include "core/base/memory.h"
#include "core/db/connection.h"

#include <poll.h>
#include <stdlib.h>

struct weir_db_errand {
    struct weir_loop *loop;
    struct weir_db *db; /* a connection of its own */
    int fd;             /* watched; -1: none */
    uint64_t timer;     /* a failure is reported in the next round */
    PGresult *result;   /* the first of the statement */
    weir_db_errand_fn *done;
    void *owner;
};

static const char SESSION[] = WEIR_DB_UNBOUND "; SET lock_timeout TO '1s'";

enum weir_status weir_db_errand_new(const struct weir_db *db, struct weir_loop *loop,
                                    struct weir_db_errand **ret_errand, struct weir_error *err)
{
    WEIR_AUTO(weir_db_errand) errand = weir_calloc(1, sizeof(*errand));
    errand->loop = loop;
    errand->fd = -1;
    enum weir_status status = weir_db_open(db->conninfo, db->schema, NULL, 0, &errand->db, err);
    if (status == WEIR_OK)
        status = weir_db_simple(errand->db, SESSION, "session", err);
    if (status == WEIR_OK)
        *ret_errand = WEIR_TAKE(errand);
    return status;
}

static void unwatch(struct weir_db_errand *errand)
{
    if (errand->fd >= 0)
        weir_loop_unwatch_fd(errand->loop, errand->fd);
    errand->fd = -1;
}

void weir_db_errand_free(struct weir_db_errand *errand)
{
    if (errand == NULL)
        return;
    unwatch(errand);
    weir_loop_cancel(errand->loop, errand->timer);
    PQclear(errand->result);
    weir_db_close(errand->db);
    free(errand);
}

/* `done` may run the next statement, or free the errand. */
static void report(struct weir_db_errand *errand)
{
    weir_db_errand_fn *done = errand->done;
    void *owner = errand->owner;
    struct weir_error err;
    enum weir_status status = weir_db_check(errand->db, errand->result, "errand", &err);
    struct weir_rows *rows = NULL;
    if (status == WEIR_OK)
        rows = weir_rows_wrap(WEIR_TAKE(errand->result));
    PQclear(errand->result);
    errand->result = NULL;
    errand->done = NULL;
    done(owner, rows, status == WEIR_OK ? NULL : &err);
    weir_rows_free(rows);
}

static void on_ready(void *owner)
{
    struct weir_db_errand *errand = owner;
    PGconn *conn = errand->db->conn;
    bool is_read = PQconsumeInput(conn) == 1;
    while (is_read && !PQisBusy(conn)) {
        PGresult *result = PQgetResult(conn);
        if (result == NULL) {
            unwatch(errand);
            report(errand);
            return;
        }
        if (errand->result == NULL)
            errand->result = result;
        else
            PQclear(result);
    }
    if (is_read)
        return;
    unwatch(errand);
    report(errand);
}

static void on_failure(void *owner)
{
    struct weir_db_errand *errand = owner;
    errand->timer = 0;
    report(errand);
}

void weir_db_errand_run(struct weir_db_errand *errand, const char *sql, weir_db_errand_fn *done,
                        void *owner)
{
    weir_require(errand->done == NULL);
    errand->done = done;
    errand->owner = owner;
    PGconn *conn = errand->db->conn;
    if (conn == NULL || PQsendQueryParams(conn, sql, 0, NULL, NULL, NULL, NULL, 1) != 1) {
        errand->timer = weir_loop_timer(errand->loop, 0, 0, on_failure, errand);
        return;
    }
    errand->fd = PQsocket(conn);
    weir_loop_watch_fd(errand->loop, errand->fd, POLLIN, on_ready, errand);
}
