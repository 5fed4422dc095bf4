/* The connection behind struct weir_db: opening it again, and what a result of libpq means. For core/db alone. */
#ifndef WEIR_DB_CONNECTION_H
#define WEIR_DB_CONNECTION_H

#include "core/db/db.h"

#include <libpq-fe.h>

/* Name and parameter types of a statement at the server. */
struct weir_prepared {
    bool is_prepared;
    uint32_t version; /* goes into its name: types may change once a NULL becomes a value */
    size_t count;
    Oid types[WEIR_PARAMS_MAX]; /* 0: the server's choice */
};

struct weir_db {
    PGconn *conn; /* NULL: lost */
    char *conninfo;
    char *schema;
    const struct weir_query *queries;
    size_t query_count;
    struct weir_prepared *prepared; /* one per query */
    bool in_transaction;
    struct weir_db_batch *batch; /* of the transaction; NULL: each statement is waited for */
    struct weir_loop *loop;      /* goes on while a statement is waited for; NULL: nothing does */
    bool is_waiting;
    uint64_t changes; /* statements that may have changed something, and ends of transactions */
};

/* Opens the connection of `db`, which has none, and sets up its session. UNAVAILABLE. */
enum weir_status weir_db_connect(struct weir_db *db, struct weir_error *err) WEIR_MUST_USE;
/* OK with an open connection. UNAVAILABLE when it cannot be opened, or was lost inside a transaction. */
enum weir_status weir_db_ensure(struct weir_db *db, struct weir_error *err) WEIR_MUST_USE;
/* Closes the connection; the next call opens it again. An open transaction stays marked: it is lost. */
void weir_db_drop(struct weir_db *db);
/* OK, or what `result` says went wrong with `what`; drops a dead connection. `result` stays the caller's. */
enum weir_status weir_db_check(struct weir_db *db, const PGresult *result, const char *what,
                               struct weir_error *err) WEIR_MUST_USE;
/* The same of a COMMIT: a transaction in which a statement failed answers it with a rollback, and calls that a
 * success. */
enum weir_status weir_db_check_commit(struct weir_db *db, PGresult *result, const char *what,
                                      struct weir_error *err) WEIR_MUST_USE;
/* UNAVAILABLE, after weir_db_drop(). */
enum weir_status weir_db_lose(struct weir_db *db, const char *what,
                              struct weir_error *err) WEIR_MUST_USE;
/* Waits for the last result of what was just sent, as PQexec() does; `is_sent` is what libpq said. The caller's. NULL
 * when there is none. */
PGresult *weir_db_await(struct weir_db *db, int is_sent) WEIR_MUST_USE;
/* Has all that was sent be on its way. */
void weir_db_flush(struct weir_db *db);
/* Waits until the next result can be taken without waiting, until `end_ms` by weir_now_ms() (-1: for ever). False: it
 * cannot. */
bool weir_db_is_answered(struct weir_db *db, int64_t end_ms);
/* Waits for the next result, as PQgetResult() does. The caller's. */
PGresult *weir_db_next(struct weir_db *db) WEIR_MUST_USE;
/* Returns the value of an option, which belongs to `options`; NULL when it has none. */
const char *weir_db_option(const PQconninfoOption *options, const char *keyword);
/* PQconnectdbParams() with dbname expanded. `*ret_in_time` false: it took longer than connect_timeout. */
PGconn *weir_db_dial(struct weir_db *db, const char *const *keys, const char *const *values,
                     bool *ret_in_time) WEIR_MUST_USE;
/* Runs text, for one result or none. */
enum weir_status weir_db_simple(struct weir_db *db, const char *sql, const char *what,
                                struct weir_error *err) WEIR_MUST_USE;

/* Time limits of a statement and of its waiting for a lock (55P03: UNAVAILABLE), and what lifts them for long work. */
#define WEIR_DB_LOCK_BOUND   "lock_timeout TO '50ms'"
#define WEIR_DB_LOCK_UNBOUND "lock_timeout TO 0"
#define WEIR_DB_BOUND        "SET statement_timeout TO '30s'; SET " WEIR_DB_LOCK_BOUND
#define WEIR_DB_UNBOUND      "SET statement_timeout TO 0; SET " WEIR_DB_LOCK_UNBOUND
/* A plan that is kept is one for the size that a table had then; tables grow by the thousand before statistics do. */
#define WEIR_DB_PLANS "SET plan_cache_mode TO force_custom_plan"

struct weir_rows *weir_rows_wrap(PGresult *result);

#endif
