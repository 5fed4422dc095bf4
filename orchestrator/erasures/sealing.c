/* Rewriting and cycling, one statement after the other: see sealing.h. */
#include "orchestrator/erasures/sealing.h"

#include "core/base/clock.h"
#include "core/base/log.h"
#include "core/base/memory.h"
#include "core/db/errand.h"
#include "core/db/table_lock.h"
#include "orchestrator/erasures/places.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

enum {
    SEALED = 1,
    KEPT = 0,
    CYCLES_MAX = 512,
    STILL_MAX = 16, /* cycles in a row that let go of no segment: something holds them */
    AGAIN_MS = 200,
    BREATH_MS = 50, /* after a table that took longer, those who waited for it come first */
};

static const struct {
    const char *schema, *name;
    bool is_sealed;
} TABLES[] = {
#define TABLE(schema, name, holds, is_sealed, purge) {#schema, #name, is_sealed},
#define FILES(pattern, place, holds, purge)
#define UNNAMED(process, name, holds, purge)
#include "orchestrator/erasures/holders.def"
#undef TABLE
#undef FILES
#undef UNNAMED
};

static const char NOT_OURS[] =
    "Postgres is not Weir's own: its files and write-ahead log were not searched, and its write-ahead log was not "
    "cycled; they, its replicas and its backups are outside Weir's reach";
static const char LOG_REMAINS[] =
    "old segments of Postgres's write-ahead log could not be let go (a replication slot, wal_keep_size or archiving "
    "holds them): they were searched and stay, and what was copied from them is outside Weir's reach";

struct sealing {
    struct context *context;
    char *cluster;     /* of Postgres; NULL: the server is not Weir's own */
    struct seal *seal; /* of those that wait for one; NULL: none is under way */
    /* changes of tables as of the newest seal; NULL: none since the start */
    struct weir_rows *sealed;
};

struct seal {
    struct sealing *all;
    struct weir_rows *erasures; /* waiting; NULL: storage is being asked */
    struct weir_rows *partitions;
    struct weir_db_errand *errand;
    struct weir_rows *changes; /* of each table, as of the beginning */
    size_t table, partition;   /* the next ones */
    const char *rewriting;     /* the name of the one that is being rewritten */
    int64_t began_ms;
    bool is_rewritten, is_any_rewritten;
    char *newest_segment;   /* of the write-ahead log, when every table was rewritten */
    char *oldest_segment;   /* of it, after the newest cycle */
    unsigned cycles, still; /* `still`: the newest ones, which let go of nothing */
    bool log_remains;
    uint64_t timer;
};

static void rewrite_next(void *owner);
static void cycle(void *owner);

/* Only a server that is set up by Weir lets go of old segments instead of using them again. */
static bool is_ours(const struct seal *seal)
{
    return seal->all->cluster != NULL;
}

static void free_seal(struct seal *seal)
{
    struct sealing *all = seal->all;
    weir_rpc_forget(all->context->storage, seal);
    weir_loop_cancel(all->context->loop, seal->timer);
    weir_db_errand_free(seal->errand);
    weir_rows_free(seal->erasures);
    weir_rows_free(seal->partitions);
    weir_rows_free(seal->changes);
    free(seal->newest_segment);
    free(seal->oldest_segment);
    free(seal);
    all->seal = NULL;
}

struct sealing *orchestrator_sealing_new(struct context *context, const char *cluster)
{
    struct sealing *sealing = weir_calloc(1, sizeof(*sealing));
    sealing->context = context;
    sealing->cluster = cluster != NULL ? weir_strdup(cluster) : NULL;
    return sealing;
}

void orchestrator_sealing_free(struct sealing *sealing)
{
    if (sealing->seal != NULL)
        free_seal(sealing->seal);
    weir_rows_free(sealing->sealed);
    free(sealing->cluster);
    free(sealing);
}

/* Lets the erasures that wait look again: a new seal begins. */
static void give_up(struct seal *seal, const struct weir_error *err)
{
    weir_log(WEIR_LOG_WARN, "seal of erasures interrupted, trying again", "because=\"%s\"",
             err->text);
    free_seal(seal);
}

/* ---- the end ---- */

static void on_searching(void *owner, const struct weir_reply *reply, const struct weir_error *err)
{
    struct seal *seal = owner;
    if (reply == NULL)
        give_up(seal, err);
    else
        free_seal(seal);
}

static void finish(struct seal *seal)
{
    size_t count = weir_rows_count(seal->erasures);
    WEIR_AUTO_FREE uint64_t *numbers = weir_calloc(count + 1, sizeof(*numbers));
    const char *remark = is_ours(seal) ? LOG_REMAINS : NOT_OURS;
    bool has_remark = !is_ours(seal) || seal->log_remains;
    WEIR_AUTO_FREE char *places = orchestrator_places_searched(is_ours(seal));
    for (size_t i = 0; i < count; i++)
        numbers[i] = (uint64_t)weir_rows_i64(seal->erasures, i, "number");
    const struct msg_erase_search search = {.erasures = {numbers, count},
                                            .remarks = {&remark, has_remark},
                                            .cluster = is_ours(seal) ? seal->all->cluster : "",
                                            .places = places};
    weir_log(WEIR_LOG_INFO, "erasures sealed", "erasures=%zu cycles=%u", count, seal->cycles);
    weir_rpc_call(seal->all->context->storage, MSG_erase_search, &search, ORCHESTRATOR_REQUEST_MS,
                  on_searching, seal);
}

/* ---- the write-ahead log ---- */

static void count_still(struct seal *seal, const char *oldest)
{
    bool is_still = seal->oldest_segment != NULL && strcmp(seal->oldest_segment, oldest) == 0;
    seal->still = is_still ? seal->still + 1 : 0;
    free(seal->oldest_segment);
    seal->oldest_segment = weir_strdup(oldest);
}

static void on_cycled(void *owner, const struct weir_rows *rows, const struct weir_error *err)
{
    struct seal *seal = owner;
    if (err != NULL) {
        give_up(seal, err);
        return;
    }
    count_still(seal, weir_rows_text(rows, 0, "oldest"));
    bool is_cycled = weir_rows_bool(rows, 0, "is_cycled");
    seal->log_remains = !is_cycled && (seal->still == STILL_MAX || seal->cycles == CYCLES_MAX);
    if (is_cycled || seal->log_remains)
        finish(seal);
    else /* an archive may need a moment */
        seal->timer = weir_loop_timer(seal->all->context->loop, seal->still > 0 ? AGAIN_MS : 0, 0,
                                      cycle, seal);
}

static void on_checkpoint(void *owner, const struct weir_rows *rows, const struct weir_error *err)
{
    struct seal *seal = owner;
    (void)rows;
    if (err != NULL) {
        give_up(seal, err);
        return;
    }
    WEIR_AUTO_FREE char *sql = weir_format("SELECT coalesce(min(name) > '%s', false) AS is_cycled, "
                                           "coalesce(min(name), '')::text AS oldest FROM "
                                           "pg_ls_waldir() WHERE name ~ '^[0-9A-F]{24}$'",
                                           seal->newest_segment);
    weir_db_errand_run(seal->errand, sql, on_cycled, seal);
}

static void on_switched(void *owner, const struct weir_rows *rows, const struct weir_error *err)
{
    struct seal *seal = owner;
    (void)rows;
    if (err != NULL)
        give_up(seal, err);
    else
        weir_db_errand_run(seal->errand, "CHECKPOINT", on_checkpoint, seal);
}

/* The checkpoint removes what lies before it; its own record makes the next switch possible. */
static void cycle(void *owner)
{
    struct seal *seal = owner;
    seal->timer = 0;
    seal->cycles++;
    weir_db_errand_run(seal->errand, "SELECT pg_switch_wal()::text", on_switched, seal);
}

/* Segments that older servers have prepared hold old bytes: they are passed as well. */
static void on_newest(void *owner, const struct weir_rows *rows, const struct weir_error *err)
{
    struct seal *seal = owner;
    if (err != NULL) {
        give_up(seal, err);
        return;
    }
    seal->newest_segment = weir_strdup(weir_rows_text(rows, 0, "name"));
    cycle(seal);
}

static void cycle_log(struct seal *seal)
{
    if (is_ours(seal))
        weir_db_errand_run(
            seal->errand,
            "SELECT max(name)::text AS name FROM pg_ls_waldir() WHERE name ~ '^[0-9A-F]{24}$'",
            on_newest, seal);
    else
        finish(seal);
}

/* ---- tables ---- */

/* The row of the newest seal's table or partition with this name; its count: there is none, it was made later. */
static size_t find_before(const struct weir_rows *before, const char *name)
{
    size_t i = 0;
    while (i < weir_rows_count(before) && strcmp(weir_rows_text(before, i, "name"), name) != 0)
        i++;
    return i;
}

/* Some transaction was rolled back, which leaves dead rows where it had inserted some. */
static bool may_hold_rolled_back(const struct weir_rows *now, size_t table,
                                 const struct weir_rows *before, size_t at)
{
    bool is_new = at == weir_rows_count(before);
    int64_t inserts = is_new ? 0 : weir_rows_i64(before, at, "inserts");
    return weir_rows_i64(now, table, "rollbacks") != weir_rows_i64(before, 0, "rollbacks") &&
           weir_rows_i64(now, table, "inserts") != inserts;
}

/* A statement may have left dead rows in it since it was rewritten. */
static bool is_touched(const struct seal *seal, size_t table)
{
    const struct weir_rows *now = seal->changes, *before = seal->all->sealed;
    int64_t changes = weir_rows_i64(now, table, "changes");
    if (before == NULL || weir_rows_count(before) == 0 || changes < 0)
        return true;
    size_t at = find_before(before, weir_rows_text(now, table, "name"));
    bool is_new = at == weir_rows_count(before);
    return changes != (is_new ? 0 : weir_rows_i64(before, at, "changes")) ||
           weir_rows_i64(now, table, "counted_since") !=
               weir_rows_i64(before, 0, "counted_since") ||
           may_hold_rolled_back(now, table, before, at);
}

static void go_on(struct seal *seal)
{
    int64_t took_ms = weir_now_ms() - seal->began_ms;
    int64_t wait_ms = took_ms > BREATH_MS ? BREATH_MS : 0;
    if (seal->is_rewritten && seal->partition < weir_rows_count(seal->partitions))
        seal->partition++;
    else if (seal->is_rewritten)
        seal->table++;
    seal->timer = weir_loop_timer(seal->all->context->loop, seal->is_rewritten ? wait_ms : AGAIN_MS,
                                  0, rewrite_next, seal);
}

static void on_unlocked(void *owner, const struct weir_rows *rows, const struct weir_error *err)
{
    struct seal *seal = owner;
    (void)rows;
    if (err != NULL)
        give_up(seal, err);
    else
        go_on(seal);
}

/* One that somebody works with is tried again; so is one that an older row version is still read from. */
static void on_rewritten(void *owner, const struct weir_rows *rows, const struct weir_error *err)
{
    struct seal *seal = owner;
    (void)rows;
    seal->is_rewritten = err == NULL;
    if (err != NULL && err->status != WEIR_UNAVAILABLE)
        give_up(seal, err);
    else
        weir_db_errand_run(seal->errand, WEIR_DB_TABLES_UNLOCK, on_unlocked, seal);
}

/* Statistics hold common values in clear: those of this table are made again, and their own table comes last. One that
 * was dropped meanwhile has gone with all it held. */
static void on_turn(void *owner, const struct weir_rows *rows, const struct weir_error *err)
{
    struct seal *seal = owner;
    WEIR_AUTO_FREE char *sql = weir_format("VACUUM (FULL, ANALYZE) %s", seal->rewriting);
    if (err != NULL && err->status == WEIR_UNAVAILABLE)
        go_on(seal);
    else if (err != NULL)
        give_up(seal, err);
    else if (weir_rows_bool(rows, 0, "is_there"))
        weir_db_errand_run(seal->errand, sql, on_rewritten, seal);
    else
        on_rewritten(seal, NULL, NULL);
}

static void rewrite(struct seal *seal, const char *table)
{
    WEIR_AUTO_FREE char *sql =
        weir_format(WEIR_DB_TABLES_LOCK ", to_regclass('%s') IS NOT NULL AS is_there", table);
    seal->rewriting = table;
    seal->is_rewritten = false;
    seal->is_any_rewritten = true;
    seal->began_ms = weir_now_ms();
    weir_db_errand_run(seal->errand, sql, on_turn, seal);
}

static void end_rewriting(struct seal *seal)
{
    weir_rows_free(seal->all->sealed);
    seal->all->sealed = WEIR_TAKE(seal->changes);
    cycle_log(seal);
}

static void rewrite_next(void *owner)
{
    struct seal *seal = owner;
    size_t count = weir_rows_count(seal->changes);
    seal->timer = 0;
    if (seal->partition < weir_rows_count(seal->partitions)) {
        rewrite(seal, weir_rows_text(seal->partitions, seal->partition, "name"));
        return;
    }
    while (seal->table < count && !is_touched(seal, seal->table))
        seal->table++;
    if (seal->table < count)
        rewrite(seal, weir_rows_text(seal->changes, seal->table, "name"));
    else if (seal->table == count && seal->is_any_rewritten && is_ours(seal))
        rewrite(seal, "pg_catalog.pg_statistic");
    else
        end_rewriting(seal);
}

/* ---- the beginning ---- */

/* Names of the tables to rewrite; of chunks, the partitions that were touched are known one by one. */
static char *tables_to_seal(void)
{
    WEIR_AUTO_BUF names = {0};
    for (size_t i = 0; i < WEIR_COUNT(TABLES); i++)
        if (TABLES[i].is_sealed && strcmp(TABLES[i].name, "chunk") != 0)
            weir_buf_printf(&names, "%s%s.%s", names.size > 0 ? " " : "", TABLES[i].schema,
                            TABLES[i].name);
    return weir_strdup(weir_buf_text(&names));
}

static enum weir_status begin(struct seal *seal, const struct weir_u64s *scrubbed,
                              struct weir_error *err)
{
    struct sealing *all = seal->all;
    WEIR_AUTO_FREE char *tables = tables_to_seal();
    enum weir_status status = DB_RUN(all->context->db, Q_seal_ready, &seal->erasures, err,
                                     DB_I64S(scrubbed->at, scrubbed->count));
    if (status != WEIR_OK || weir_rows_count(seal->erasures) == 0)
        return status;
    status = DB_RUN(all->context->db, Q_seal_partitions, &seal->partitions, err,
                    DB_I64S(scrubbed->at, scrubbed->count));
    if (status == WEIR_OK)
        status = DB_RUN(all->context->db, Q_seal_changes, &seal->changes, err, DB_TEXT(tables));
    if (status == WEIR_OK)
        status = weir_db_errand_new(all->context->db, all->context->loop, &seal->errand, err);
    if (status == WEIR_OK)
        seal->timer = weir_loop_timer(all->context->loop, 0, 0, rewrite_next, seal);
    return status;
}

static void on_scrubbed(void *owner, const struct weir_reply *reply, const struct weir_error *err)
{
    struct seal *seal = owner;
    struct weir_error problem;
    if (reply == NULL) {
        weir_log(WEIR_LOG_DEBUG, "storage not asked for erasures to seal", "because=\"%s\"",
                 err->text);
        free_seal(seal);
        return;
    }
    const struct msg_erase_scrubbed *scrubbed = reply->message;
    if (begin(seal, &scrubbed->erasures, &problem) != WEIR_OK)
        give_up(seal, &problem);
    else if (seal->errand == NULL) /* nobody is ready */
        free_seal(seal);
}

void orchestrator_sealing_look(struct sealing *sealing)
{
    if (sealing->seal != NULL)
        return;
    sealing->seal = weir_calloc(1, sizeof(*sealing->seal));
    sealing->seal->all = sealing;
    weir_rpc_call(sealing->context->storage, MSG_erase_scrubbed_request, NULL,
                  ORCHESTRATOR_REQUEST_MS, on_scrubbed, sealing->seal);
}
