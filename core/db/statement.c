/* Running statements, prepared at their first use, plus one-off texts. */
#include "core/db/batch.h"
#include "core/db/prepared.h"

#include "core/base/fault.h"

static enum weir_status prepare(struct weir_db *db, int query,
                                const struct weir_arguments *arguments, struct weir_error *err)
{
    struct weir_prepared *prepared = &db->prepared[query];
    if (weir_prepared_fits(prepared, arguments))
        return WEIR_OK;
    PGresult *result = weir_db_await(db, weir_prepared_send(db, query, arguments));
    enum weir_status status = weir_db_check(db, result, db->queries[query].name, err);
    PQclear(result);
    prepared->is_prepared = status == WEIR_OK;
    return status;
}

static enum weir_status execute(struct weir_db *db, int query,
                                const struct weir_arguments *arguments, struct weir_rows **ret_rows,
                                struct weir_error *err)
{
    enum weir_status status = weir_db_ensure(db, err);
    if (status == WEIR_OK)
        status = prepare(db, query, arguments, err);
    if (status != WEIR_OK)
        return status;
    PGresult *result = weir_db_await(db, weir_arguments_send(db, query, arguments));
    status = weir_db_check(db, result, db->queries[query].name, err);
    if (status == WEIR_OK && ret_rows != NULL)
        *ret_rows = weir_rows_wrap(result);
    else
        PQclear(result);
    return status;
}

enum weir_status weir_db_run(struct weir_db *db, int query, const struct weir_param *params,
                             size_t count, struct weir_rows **ret_rows, struct weir_error *err)
{
    weir_require(query >= 0 && (size_t)query < db->query_count);
    weir_require(count <= WEIR_PARAMS_MAX);
    if (!db->is_waiting && weir_fault("db.run")) {
        weir_db_drop(db);
        return weir_fail(err, WEIR_UNAVAILABLE, "%s: fault db.run", db->queries[query].name);
    }
    struct weir_arguments arguments = {0};
    enum weir_status status =
        weir_arguments_set(&arguments, db->queries[query].name, params, count, err);
    if (status == WEIR_OK && db->batch == NULL)
        status = execute(db, query, &arguments, ret_rows, err);
    else if (status == WEIR_OK)
        status = weir_db_batch_add(db, query, &arguments, ret_rows, err);
    weir_arguments_fini(&arguments);
    return status;
}

/* ---- one-off texts ---- */

/* Not bounded by lock_timeout: an autovacuum gives way to who changes tables after a second. */
static enum weir_status exec_inside(struct weir_db *db, const char *sql, struct weir_error *err)
{
    enum weir_status status = weir_db_simple(db, "SET LOCAL " WEIR_DB_LOCK_UNBOUND, "session", err);
    if (status == WEIR_OK)
        status = weir_db_simple(db, sql, "statement", err);
    if (status == WEIR_OK)
        status = weir_db_simple(db, "SET LOCAL " WEIR_DB_LOCK_BOUND, "session", err);
    return status;
}

enum weir_status weir_db_exec(struct weir_db *db, const char *sql, struct weir_error *err)
{
    weir_require(db->batch == NULL);
    enum weir_status status = weir_db_ensure(db, err);
    if (status != WEIR_OK)
        return status;
    if (db->in_transaction)
        return exec_inside(db, sql, err);
    status = weir_db_simple(db, WEIR_DB_UNBOUND, "session", err);
    if (status == WEIR_OK)
        status = weir_db_simple(db, sql, "statement", err);
    /* A connection that cannot be bounded again is not kept. */
    if (db->conn != NULL && weir_db_simple(db, WEIR_DB_BOUND, "session", NULL) != WEIR_OK)
        weir_db_drop(db);
    return status;
}
