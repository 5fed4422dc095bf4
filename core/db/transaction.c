/* Transactions, statement by statement or as a batch. */
#include "core/db/batch.h"

#include "core/base/fault.h"

enum weir_status weir_db_begin(struct weir_db *db, struct weir_error *err)
{
    weir_require(!db->in_transaction);
    enum weir_status status = weir_db_ensure(db, err);
    if (status == WEIR_OK)
        status = weir_db_simple(db, "BEGIN", "begin", err);
    db->in_transaction = status == WEIR_OK;
    return status;
}

static enum weir_status commit(struct weir_db *db, struct weir_error *err)
{
    PGresult *result = weir_db_await(db, PQsendQuery(db->conn, "COMMIT"));
    enum weir_status status = weir_db_check_commit(db, result, "commit", err);
    PQclear(result);
    return status;
}

enum weir_status weir_db_commit_and_ask(struct weir_db *db, struct weir_asked *asked, size_t count,
                                        struct weir_error *err)
{
    weir_require(db->in_transaction && count <= (db->batch != NULL ? WEIR_ASKED_MAX : 0));
    db->changes++; /* whatever comes of it, even if that is never known */
    if (weir_fault("db.commit"))
        weir_db_drop(db);
    enum weir_status status = weir_db_ensure(db, err);
    if (status == WEIR_OK)
        status = db->batch != NULL ? weir_db_batch_commit(db, asked, count, err) : commit(db, err);
    if (status != WEIR_OK && db->batch != NULL)
        weir_db_rollback(db);
    if (db->batch != NULL)
        weir_db_batch_end(db);
    db->in_transaction = false;
    if (status == WEIR_OK && weir_fault("db.committed")) {
        weir_db_drop(db);
        weir_asked_fini(asked, count);
        return weir_fail(err, WEIR_UNAVAILABLE, "commit: fault db.committed");
    }
    return status;
}

enum weir_status weir_db_commit(struct weir_db *db, struct weir_error *err)
{
    return weir_db_commit_and_ask(db, NULL, 0, err);
}

void weir_db_rollback(struct weir_db *db)
{
    if (!db->in_transaction)
        return;
    db->in_transaction = false;
    db->changes++;
    if (db->batch != NULL)
        weir_db_batch_end(db);
    if (db->conn == NULL)
        return;
    /* A connection that cannot even roll back is dropped, and the transaction with it. */
    if (weir_db_simple(db, "ROLLBACK", "rollback", NULL) != WEIR_OK)
        weir_db_drop(db);
}

uint64_t weir_db_changes(const struct weir_db *db)
{
    return db->changes;
}
