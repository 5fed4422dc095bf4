/* A libpq connection of a service to its own schema. Statements come from the service's
 * queries.def, are prepared once per connection and called by number. Calls block: they are short,
 * local, and bounded by statement_timeout (docs/decisions/ says why that is right for control
 * traffic). One that waits for a lock for longer than 50 ms fails with UNAVAILABLE. A lost connection is
 * reported as UNAVAILABLE, too, and reopened by the next call outside a transaction, so a handler just
 * refuses with that status and is asked again. */
#ifndef WEIR_DB_DB_H
#define WEIR_DB_DB_H

#include "core/base/bytes.h"
#include "core/base/error.h"
#include "core/db/migration.h"

/* In queries.def:  QUERY(find_dataset, "SELECT id FROM dataset WHERE name = $1")
 * expanded by the service into   enum { Q_find_dataset, … }   and   const struct weir_query
 * QUERIES[]. */
struct weir_query {
    const char *name;
    const char *sql;
};

enum weir_param_kind {
    WEIR_PARAM_NULL,
    WEIR_PARAM_I64,
    WEIR_PARAM_F64,
    WEIR_PARAM_TEXT,
    WEIR_PARAM_BYTES,
    WEIR_PARAM_BOOL,
    WEIR_PARAM_I64S,
};
enum {
    WEIR_PARAMS_MAX = 32,
    WEIR_PARAMS_BYTES_MAX = 960 << 20, /* of all parameters of a statement together */
    WEIR_CONNINFO_BYTES_MAX = 4096
};
/* A parameter has the type of its kind (I64: bigint), whatever the statement compares it with; a NULL has
 * the type the statement gives it. */
struct weir_param {
    enum weir_param_kind kind;
    int64_t i64;
    double f64;
    struct weir_bytes bytes;
};
#define DB_NULL ((struct weir_param){.kind = WEIR_PARAM_NULL})
#define DB_I64(value) \
    ((struct weir_param){.kind = WEIR_PARAM_I64, .i64 = (int64_t)(value)}) /* bigint */
#define DB_F64(value) \
    ((struct weir_param){.kind = WEIR_PARAM_F64, .f64 = (value)}) /* double precision */
#define DB_BOOL(value)  ((struct weir_param){.kind = WEIR_PARAM_BOOL, .i64 = (value)})
#define DB_TEXT(value)  ((struct weir_param){.kind = WEIR_PARAM_TEXT, .bytes = weir_bytes_of(value)})
#define DB_BYTES(value) ((struct weir_param){.kind = WEIR_PARAM_BYTES, .bytes = (value)})
/* bigint[] of `count` int64_t or uint64_t, for `= ANY ($1)` and unnest($1). */
#define DB_I64S(at_, count_)                      \
    ((struct weir_param){.kind = WEIR_PARAM_I64S, \
                         .bytes = weir_bytes((at_), (count_) * sizeof(int64_t))})

struct weir_db;
struct weir_rows;

/* INVALID unless libpq understands `conninfo`. The text never quotes it: it may hold a password. */
enum weir_status weir_db_check_conninfo(const char *conninfo, struct weir_error *err) WEIR_MUST_USE;
/* Connects with `conninfo`, sets search_path to `schema`. UNAVAILABLE when the server cannot be reached, UNSUPPORTED
 * behind a pooler of transactions (core/db/open.c). `queries` is borrowed for the life of the connection. */
enum weir_status weir_db_open(const char *conninfo, const char *schema,
                              const struct weir_query *queries, size_t count,
                              struct weir_db **ret_db, struct weir_error *err) WEIR_MUST_USE;
/* Returns one that connects with its first statement, for further connections of a program that has opened one with the
 * same `conninfo`. */
struct weir_db *weir_db_new(const char *conninfo, const char *schema,
                            const struct weir_query *queries, size_t count);
void weir_db_close(struct weir_db *db);
WEIR_DEFINE_AUTO(weir_db, weir_db_close)

/* From now on, sources of the loop that are watched meanwhile (core/loop/loop.h) are called while a statement is waited
 * for, by the loop's own thread. Calls that they make are refused with UNAVAILABLE. NULL: none are called. */
struct weir_loop;
void weir_db_go_on_with(struct weir_db *db, struct weir_loop *loop);
/* Calls those of them that are ready, once, as if a statement was waited for: where work between two statements takes
 * long. */
void weir_db_go_on_now(struct weir_db *db);
/* True for whoever is called meanwhile: there are statements that have begun and are not over. */
bool weir_db_is_waiting(const struct weir_db *db);

/* Closes the connection, which remembers its last results, as its process of Postgres does; the next call opens it
 * again. Does nothing inside a transaction. */
void weir_db_renew(struct weir_db *db);

/* Creates the schema if needed and applies the migrations it lacks, each in its own transaction,
 * recorded in SCHEMA.migration with a checksum of the text. UNSUPPORTED when the schema has one that
 * this program does not know: "schema storage is at migration 007_keys, which this program does not
 * know (it knows up to 5): run a newer Weir". CORRUPT when one was applied with another text. Call
 * before weir_db_open()'s statements are used. */
enum weir_status weir_db_migrate(struct weir_db *db, const struct weir_migration *migrations,
                                 size_t count, struct weir_error *err) WEIR_MUST_USE;

/* Runs a prepared statement. `ret_rows` may be NULL. EXISTS for a unique violation, UNAVAILABLE for
 * a lost connection (a transaction that was open is gone), LIMIT for more than WEIR_PARAMS_BYTES_MAX,
 * INTERNAL for anything else the server refuses. */
enum weir_status weir_db_run(struct weir_db *db, int query, const struct weir_param *params,
                             size_t count, struct weir_rows **ret_rows,
                             struct weir_error *err) WEIR_MUST_USE;
/* weir_db_run() with the parameters written in place, none or at most 32:
 * DB_RUN(db, Q_find, &rows, err, DB_I64(3), DB_TEXT("x")). */
#define DB_RUN(...) DB_RUN_WITH_END(__VA_ARGS__, DB_NULL)
/* The NULL at the end stands for no parameter: an empty list is not C. */
#define DB_RUN_WITH_END(db, query, ret_rows, err, ...)                                            \
    weir_db_run((db), (query), (const struct weir_param[]){__VA_ARGS__},                          \
                sizeof((const struct weir_param[]){__VA_ARGS__}) / sizeof(struct weir_param) - 1, \
                (ret_rows), (err))
/* Statements that are asked together, and take one round trip: what one of them changes those behind it see. */
enum { WEIR_ASKED_MAX = 16, WEIR_ASKED_PARAMS_MAX = 16 };
struct weir_asked {
    int query;
    size_t count; /* of parameters */
    struct weir_param params[WEIR_ASKED_PARAMS_MAX];
    struct weir_rows *rows; /* of the answer; the caller's */
};
#define DB_ASKED(...) DB_ASKED_WITH_END(__VA_ARGS__, DB_NULL)
#define DB_ASKED_WITH_END(query_, ...)                                                             \
    ((struct weir_asked){                                                                          \
        .query = (query_),                                                                         \
        .count = sizeof((const struct weir_param[]){__VA_ARGS__}) / sizeof(struct weir_param) - 1, \
        .params = {__VA_ARGS__}})
/* At most WEIR_ASKED_MAX of them. None has rows unless all do; outside a transaction none has changed anything then.
 * In a batch they are waited for with all that was sent before them. */
enum weir_status weir_db_ask(struct weir_db *db, struct weir_asked *asked, size_t count,
                             struct weir_error *err) WEIR_MUST_USE;
void weir_asked_fini(struct weir_asked *asked, size_t count);

/* A number that grows with each statement of this connection but those that begin with SELECT, and with each end of a
 * transaction: as long as it stays, and nobody else writes, what was read is there. */
uint64_t weir_db_changes(const struct weir_db *db);

/* One-off text without parameters: VACUUM, DDL. Not bounded by statement_timeout (outside a transaction) nor by
 * lock_timeout. */
enum weir_status weir_db_exec(struct weir_db *db, const char *sql,
                              struct weir_error *err) WEIR_MUST_USE;

/* Transactions do not nest. A rollback never fails; after a failed commit the outcome is unknown
 * unless the status is not UNAVAILABLE: repeat the whole (idempotent) operation. */
enum weir_status weir_db_begin(struct weir_db *db, struct weir_error *err) WEIR_MUST_USE;
/* One whose statements are sent before the first is answered: with its commit it takes one round trip, and another one
 * for each statement whose rows are wanted, and for each 512 of them. What failed is said by a later call, by
 * weir_db_commit() at the latest, in the words of the statement that did; then nothing of it is there. */
enum weir_status weir_db_begin_batch(struct weir_db *db, struct weir_error *err) WEIR_MUST_USE;
enum weir_status weir_db_commit(struct weir_db *db, struct weir_error *err) WEIR_MUST_USE;
/* The same of a batch, and what is asked once it is committed, in the same round trip. `rows` is NULL where that could
 * not be answered, which says nothing of the commit. */
enum weir_status weir_db_commit_and_ask(struct weir_db *db, struct weir_asked *asked, size_t count,
                                        struct weir_error *err) WEIR_MUST_USE;
void weir_db_rollback(struct weir_db *db);

/* Cells by the name of their column, as the statement gives it (AS): case counts. A column that the statement
 * does not have, and a cell of another type than the function names, are mistakes in the program: it stops and
 * says which column. A NULL reads as 0, "" or no bytes. Texts and bytes live as long as `rows`. */
size_t weir_rows_count(const struct weir_rows *rows);
bool weir_rows_is_null(const struct weir_rows *rows, size_t row, const char *column);
/* smallint, integer, bigint, bool; sums of bigint are numeric: cast them. */
int64_t weir_rows_i64(const struct weir_rows *rows, size_t row, const char *column);
double weir_rows_f64(const struct weir_rows *rows, size_t row, const char *column);
bool weir_rows_bool(const struct weir_rows *rows, size_t row, const char *column);
const char *weir_rows_text(const struct weir_rows *rows, size_t row, const char *column);
const char *weir_rows_text_or_null(const struct weir_rows *rows, size_t row, const char *column);
struct weir_bytes weir_rows_bytes(const struct weir_rows *rows, size_t row, const char *column);
void weir_rows_free(struct weir_rows *rows);
WEIR_DEFINE_AUTO(weir_rows, weir_rows_free)

#endif
