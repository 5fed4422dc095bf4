/* Opening a database, whose connection must have a session of its own. Statements are prepared once per connection, and
 * time limits, the search path and advisory locks are its session's: behind a pooler that lends a session for a
 * transaction (pgbouncer: pool_mode=transaction) all of that is lost, sooner or later. Poolers are known by what they
 * do. */
#include "core/base/clock.h"
#include "core/base/memory.h"
#include "core/base/rng.h"
#include "core/db/connection.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    ROUNDS = 4, /* a pooler that takes its sessions in turn shows another one in the second */
    ANSWER_MS = 10000, /* for a session of the server, where the pooler has none left */
    ASKER_BYTES = 17,
};

/* The server's process, who asked there before, and who asks now. Services begin at the same time, and may take turns
 * with sessions in such a way that each finds its own again: it finds then that another one has been there. */
static const char WHICH[] = "SELECT pg_backend_pid(), current_setting('weir.asked', true), "
                            "set_config('weir.asked', '%016" PRIx64 "', false)";

struct asked {
    int process;
    char before[ASKER_BYTES]; /* empty: nobody asked before */
};

static enum weir_status refuse(struct weir_error *err)
{
    return weir_fail(err, WEIR_UNSUPPORTED,
                     "Postgres is reached through a pooler that changes sessions between "
                     "transactions, and Weir keeps prepared statements, settings and locks in its "
                     "session: set pool_mode = session for this database (pgbouncer), or connect "
                     "to Postgres itself");
}

/* Asks for the session behind the connection at this moment. UNAVAILABLE when no answer comes. */
static enum weir_status ask(struct weir_db *db, uint64_t asker, struct asked *ret_asked,
                            struct weir_error *err)
{
    char sql[sizeof(WHICH) + ASKER_BYTES];
    snprintf(sql, sizeof(sql), WHICH, asker);
    if (PQsendQuery(db->conn, sql) != 1 || !weir_db_is_answered(db, weir_now_ms() + ANSWER_MS)) {
        weir_db_drop(db);
        return weir_fail(err, WEIR_UNAVAILABLE,
                         "the pooler in front of Postgres gives no session: has it one for each of "
                         "Weir's connections (pgbouncer: default_pool_size)?");
    }
    PGresult *result = PQgetResult(db->conn);
    enum weir_status status = weir_db_check(db, result, "session", err);
    if (status == WEIR_OK) {
        ret_asked->process = atoi(PQgetvalue(result, 0, 0));
        snprintf(ret_asked->before, sizeof(ret_asked->before), "%s", PQgetvalue(result, 0, 1));
    }
    PQclear(result);
    while (db->conn != NULL && (result = PQgetResult(db->conn)) != NULL)
        PQclear(result);
    return status;
}

/* Two clients that are both connected and have the same session share it, and one that has two has none. */
static enum weir_status compare(struct weir_db *one, struct weir_db *other, struct weir_error *err)
{
    uint64_t asker = weir_random_u64(), another = weir_random_u64();
    char name[ASKER_BYTES];
    snprintf(name, sizeof(name), "%016" PRIx64, asker);
    struct asked first;
    enum weir_status status = ask(one, asker, &first, err);
    for (int round = 0; round < ROUNDS && status == WEIR_OK; round++) {
        struct asked mine, others;
        status = ask(other, another, &others, err);
        if (status == WEIR_OK)
            status = ask(one, asker, &mine, err);
        if (status == WEIR_OK && (mine.process != first.process || mine.process == others.process ||
                                  strcmp(mine.before, name) != 0))
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
    struct asked asked;
    enum weir_status status = ask(db, weir_random_u64(), &asked, err);
    if (status != WEIR_OK || is_direct(db, asked.process))
        return status;
    struct weir_db other = {.conninfo = db->conninfo, .schema = db->schema};
    status = weir_db_connect(&other, err);
    if (status == WEIR_OK)
        status = compare(db, &other, err);
    weir_db_drop(&other);
    return status;
}

struct weir_db *weir_db_new(const char *conninfo, const char *schema,
                            const struct weir_query *queries, size_t count)
{
    struct weir_db *db = weir_calloc(1, sizeof(*db));
    db->conninfo = weir_strdup(conninfo);
    db->schema = weir_strdup(schema);
    db->queries = queries;
    db->query_count = count;
    db->prepared = weir_calloc(count > 0 ? count : 1, sizeof(*db->prepared));
    return db;
}

enum weir_status weir_db_open(const char *conninfo, const char *schema,
                              const struct weir_query *queries, size_t count,
                              struct weir_db **ret_db, struct weir_error *err)
{
    WEIR_AUTO(weir_db) db = weir_db_new(conninfo, schema, queries, count);
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
