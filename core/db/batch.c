/* One synchronisation at a time: the server answers what came before it, and after a failure skips the rest up to it,
 * COMMIT among it. A pooler of sessions sees the messages of a single statement, only more of them. */
#include "core/db/batch.h"

#include "core/base/fault.h"
#include "core/base/memory.h"

#include <stdlib.h>

/* Answers of a statement without rows take some 40 bytes, and wait at the server until all is sent: so many fit into
 * what sockets hold, or both sides could wait for each other. */
enum {
    STATEMENTS_MAX = 512,
    SENT_MAX = 2 * (STATEMENTS_MAX + WEIR_ASKED_MAX) + 2 /* BEGIN, COMMIT */
};

struct sent {
    const char *what;
    struct weir_prepared *preparing; /* NULL: the statement itself */
    struct weir_rows **ret_rows;     /* NULL: they are not wanted */
    bool is_behind;                  /* the commit, which it has no say in */
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
    if (status == WEIR_OK && sent->ret_rows != NULL)
        *sent->ret_rows = weir_rows_wrap(result);
    else
        PQclear(result);
    if (db->conn != NULL)
        PQclear(weir_db_next(db)); /* NULL: no more answers to this one */
    return status;
}

static enum weir_status synchronise(struct weir_db *db, struct weir_error *err)
{
    struct weir_db_batch *batch = db->batch;
    enum weir_status status = WEIR_OK, behind = WEIR_OK;
    if (!PQpipelineSync(db->conn))
        return weir_db_lose(db, "commit", err);
    weir_db_flush(db);
    for (size_t i = 0; i < batch->count && db->conn != NULL; i++) {
        const struct sent *sent = &batch->sent[i];
        if (sent->is_behind)
            behind = take(db, sent, status != WEIR_OK ? status : behind, NULL);
        else
            status = take(db, sent, status, err);
    }
    batch->count = batch->statements = 0;
    if (db->conn != NULL)
        PQclear(weir_db_next(db)); /* of the synchronisation */
    return status;
}

/* ---- statements ---- */

static enum weir_status prepare(struct weir_db *db, int query,
                                const struct weir_arguments *arguments, bool is_behind,
                                struct weir_error *err)
{
    struct weir_prepared *prepared = &db->prepared[query];
    if (weir_prepared_fits(prepared, arguments))
        return WEIR_OK;
    int is_sent = weir_prepared_send(db, query, arguments);
    prepared->is_prepared = true; /* for those behind it */
    const struct sent sent = {
        .what = db->queries[query].name, .preparing = prepared, .is_behind = is_behind};
    return note(db, is_sent, &sent, err);
}

static enum weir_status send_statement(struct weir_db *db, int query,
                                       const struct weir_arguments *arguments,
                                       struct weir_rows **ret_rows, bool is_behind,
                                       struct weir_error *err)
{
    enum weir_status status = prepare(db, query, arguments, is_behind, err);
    if (status != WEIR_OK)
        return status;
    const struct sent sent = {
        .what = db->queries[query].name, .ret_rows = ret_rows, .is_behind = is_behind};
    db->batch->statements++;
    return note(db, weir_arguments_send(db, query, arguments), &sent, err);
}

static enum weir_status make_room(struct weir_db *db, struct weir_error *err)
{
    enum weir_status status = weir_db_ensure(db, err);
    return status == WEIR_OK && db->batch->statements >= STATEMENTS_MAX ? synchronise(db, err)
                                                                        : status;
}

enum weir_status weir_db_batch_add(struct weir_db *db, int query,
                                   const struct weir_arguments *arguments,
                                   struct weir_rows **ret_rows, struct weir_error *err)
{
    enum weir_status status = make_room(db, err);
    if (status == WEIR_OK)
        status = send_statement(db, query, arguments, ret_rows, false, err);
    return status == WEIR_OK && ret_rows != NULL ? synchronise(db, err) : status;
}

/* ---- statements that are asked together ---- */

static enum weir_status send_asked(struct weir_db *db, struct weir_asked *asked, size_t count,
                                   bool is_behind, struct weir_error *err)
{
    enum weir_status status = WEIR_OK;
    for (size_t i = 0; i < count && status == WEIR_OK; i++) {
        struct weir_arguments arguments = {0};
        asked[i].rows = NULL;
        status = weir_arguments_set(&arguments, db->queries[asked[i].query].name, asked[i].params,
                                    asked[i].count, err);
        if (status == WEIR_OK)
            status = send_statement(db, asked[i].query, &arguments, &asked[i].rows, is_behind, err);
        weir_arguments_fini(&arguments);
    }
    return status;
}

static enum weir_status begin(struct weir_db *db, struct weir_error *err)
{
    enum weir_status status = weir_db_ensure(db, err);
    if (status == WEIR_OK && !PQenterPipelineMode(db->conn))
        status = weir_db_lose(db, "begin", err);
    if (status == WEIR_OK)
        db->batch = weir_calloc(1, sizeof(*db->batch));
    return status;
}

enum weir_status weir_db_ask(struct weir_db *db, struct weir_asked *asked, size_t count,
                             struct weir_error *err)
{
    weir_require(count <= WEIR_ASKED_MAX);
    if (!db->is_waiting && weir_fault("db.run")) {
        weir_db_drop(db);
        return weir_fail(err, WEIR_UNAVAILABLE, "%s: fault db.run",
                         db->queries[asked[0].query].name);
    }
    bool is_inside = db->batch != NULL;
    enum weir_status status = is_inside ? make_room(db, err) : begin(db, err);
    if (status != WEIR_OK)
        return status;
    status = send_asked(db, asked, count, false, err);
    if (status == WEIR_OK)
        status = synchronise(db, err);
    if (!is_inside)
        weir_db_batch_end(db);
    if (status != WEIR_OK)
        weir_asked_fini(asked, count);
    return status;
}

void weir_asked_fini(struct weir_asked *asked, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        weir_rows_free(asked[i].rows);
        asked[i].rows = NULL;
    }
}

/* ---- the transaction ---- */

enum weir_status weir_db_begin_batch(struct weir_db *db, struct weir_error *err)
{
    weir_require(!db->in_transaction);
    enum weir_status status = begin(db, err);
    if (status != WEIR_OK)
        return status;
    status = send_text(db, "BEGIN", "begin", err);
    db->in_transaction = status == WEIR_OK;
    if (status != WEIR_OK)
        weir_db_batch_end(db);
    return status;
}

enum weir_status weir_db_batch_commit(struct weir_db *db, struct weir_asked *asked, size_t count,
                                      struct weir_error *err)
{
    enum weir_status status = send_text(db, "COMMIT", "commit", err);
    if (status == WEIR_OK)
        status = send_asked(db, asked, count, true, err);
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
