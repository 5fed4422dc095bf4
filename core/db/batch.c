/* One synchronisation at a time: the server answers what came before it, and after a failure skips the rest up to it,
 * COMMIT among it. A pooler of sessions sees the messages of a single statement, only more of them. */
#include "core/db/batch.h"

#include "core/base/memory.h"

#include <stdlib.h>

/* Answers of a statement without rows take some 40 bytes, and wait at the server until all is sent: so many fit into
 * what sockets hold, or both sides could wait for each other. */
enum { STATEMENTS_MAX = 512, SENT_MAX = 2 * STATEMENTS_MAX + 2 /* BEGIN, COMMIT */ };

struct sent {
    const char *what;
    struct weir_prepared *preparing; /* NULL: the statement itself */
};

struct weir_db_batch {
    size_t statements, count;
    struct sent sent[SENT_MAX]; /* since the last synchronisation */
};

static enum weir_status note(struct weir_db *db, int is_sent, const struct sent *sent,
                             struct weir_error *err)
{
    if (!is_sent)
        return weir_db_lose(db, sent->what, err);
    db->batch->sent[db->batch->count++] = *sent;
    return WEIR_OK;
}

static enum weir_status send_text(struct weir_db *db, const char *sql, const char *what,
                                  struct weir_error *err)
{
    return note(db, PQsendQueryParams(db->conn, sql, 0, NULL, NULL, NULL, NULL, 1),
                &(struct sent){.what = what}, err);
}

/* ---- answers ---- */

static enum weir_status check(struct weir_db *db, PGresult *result, const struct sent *sent,
                              struct weir_error *err)
{
    enum weir_status status = weir_db_check_commit(db, result, sent->what, err);
    if (status != WEIR_OK && sent->preparing != NULL)
        sent->preparing->is_prepared = false;
    return status;
}

/* Takes the answer to one message, unless an earlier one failed: then the server has skipped it. */
static enum weir_status take(struct weir_db *db, const struct sent *sent, enum weir_status before,
                             struct weir_error *err)
{
    PGresult *result = weir_db_next(db);
    enum weir_status status = before;
    if (result == NULL)
        return weir_db_lose(db, sent->what, err);
    if (before == WEIR_OK)
        status = check(db, result, sent, err);
    else if (sent->preparing != NULL)
        sent->preparing->is_prepared = false;
    PQclear(result);
    if (db->conn != NULL)
        PQclear(weir_db_next(db)); /* NULL: no more answers to this one */
    return status;
}

static enum weir_status synchronise(struct weir_db *db, struct weir_error *err)
{
    struct weir_db_batch *batch = db->batch;
    enum weir_status status = WEIR_OK;
    if (!PQpipelineSync(db->conn))
        return weir_db_lose(db, "commit", err);
    weir_db_flush(db);
    for (size_t i = 0; i < batch->count && db->conn != NULL; i++)
        status = take(db, &batch->sent[i], status, err);
    batch->count = batch->statements = 0;
    if (db->conn != NULL)
        PQclear(weir_db_next(db)); /* of the synchronisation */
    return status;
}

/* ---- statements ---- */

static enum weir_status prepare(struct weir_db *db, int query,
                                const struct weir_arguments *arguments, struct weir_error *err)
{
    struct weir_prepared *prepared = &db->prepared[query];
    if (weir_prepared_fits(prepared, arguments))
        return WEIR_OK;
    int is_sent = weir_prepared_send(db, query, arguments);
    prepared->is_prepared = true; /* for those behind it */
    return note(db, is_sent, &(struct sent){.what = db->queries[query].name, .preparing = prepared},
                err);
}

enum weir_status weir_db_batch_add(struct weir_db *db, int query,
                                   const struct weir_arguments *arguments,
                                   struct weir_rows **ret_rows, struct weir_error *err)
{
    weir_require(ret_rows == NULL);
    enum weir_status status = weir_db_ensure(db, err);
    if (status == WEIR_OK && db->batch->statements == STATEMENTS_MAX)
        status = synchronise(db, err);
    if (status == WEIR_OK)
        status = prepare(db, query, arguments, err);
    if (status != WEIR_OK)
        return status;
    db->batch->statements++;
    return note(db, weir_arguments_send(db, query, arguments),
                &(struct sent){.what = db->queries[query].name}, err);
}

/* ---- the transaction ---- */

enum weir_status weir_db_begin_batch(struct weir_db *db, struct weir_error *err)
{
    weir_require(!db->in_transaction);
    enum weir_status status = weir_db_ensure(db, err);
    if (status == WEIR_OK && !PQenterPipelineMode(db->conn))
        status = weir_db_lose(db, "begin", err);
    if (status != WEIR_OK)
        return status;
    db->batch = weir_calloc(1, sizeof(*db->batch));
    status = send_text(db, "BEGIN", "begin", err);
    db->in_transaction = status == WEIR_OK;
    if (status != WEIR_OK)
        weir_db_batch_end(db);
    return status;
}

enum weir_status weir_db_batch_commit(struct weir_db *db, struct weir_error *err)
{
    enum weir_status status = send_text(db, "COMMIT", "commit", err);
    return status == WEIR_OK ? synchronise(db, err) : status;
}

void weir_db_batch_end(struct weir_db *db)
{
    if (db->conn != NULL && db->batch->count > 0)
        (void)synchronise(db, NULL);
    if (db->conn != NULL && !PQexitPipelineMode(db->conn))
        weir_db_drop(db);
    free(db->batch);
    db->batch = NULL;
}
