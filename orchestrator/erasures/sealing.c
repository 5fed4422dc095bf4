/* Rewriting and cycling, one statement after the other: see sealing.h. */
#include "orchestrator/erasures/sealing.h"

#include "core/base/log.h"
#include "core/base/memory.h"
#include "core/db/errand.h"
#include "orchestrator/erasures/erasure_state.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

enum { SEALED = 1, KEPT = 0, CYCLES_MAX = 512, AGAIN_MS = 200 };

static const struct {
    const char *schema, *name;
    bool is_sealed;
} TABLES[] = {
#define TABLE(schema, name, holds, is_sealed, purge) {#schema, #name, is_sealed},
#define FILES(pattern, holds, purge)
#include "orchestrator/erasures/holders.def"
#undef TABLE
#undef FILES
};

static const char NOT_OURS[] =
    "Postgres is not Weir's own: its files and write-ahead log were not searched; they, its replicas and its "
    "backups are outside Weir's reach";

struct seal {
    struct erasures *all;
    struct weir_rows *erasures; /* that wait; NULL: storage is being asked */
    struct weir_rows *partitions;
    struct weir_db_errand *errand;
    struct weir_rows *changes; /* of each table, as of the beginning */
    size_t table, partition;   /* the next ones */
    bool is_any_rewritten;
    char *newest_segment; /* of the write-ahead log, when every table was rewritten */
    unsigned cycles;
    uint64_t timer;
};

static void rewrite_next(void *owner);
static void cycle(struct seal *seal);

/* Only a server that is set up by Weir lets go of old segments instead of using them again. */
static bool is_ours(const struct seal *seal)
{
    return seal->all->cluster != NULL;
}

static void free_seal(struct seal *seal)
{
    struct erasures *all = seal->all;
    weir_rpc_forget(all->context->storage, seal);
    weir_loop_cancel(all->context->loop, seal->timer);
    weir_db_errand_free(seal->errand);
    weir_rows_free(seal->erasures);
    weir_rows_free(seal->partitions);
    weir_rows_free(seal->changes);
    free(seal->newest_segment);
    free(seal);
    all->seal = NULL;
}

void orchestrator_seal_free(struct erasures *erasures)
{
    if (erasures->seal != NULL)
        free_seal(erasures->seal);
    weir_rows_free(erasures->sealed);
    erasures->sealed = NULL;
}

/* Whoever waits looks again, and a new seal begins. */
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
    const char *remark = NOT_OURS;
    for (size_t i = 0; i < count; i++)
        numbers[i] = (uint64_t)weir_rows_i64(seal->erasures, i, 0);
    const struct msg_erase_search search = {.erasures = {numbers, count},
                                            .remarks = {&remark, is_ours(seal) ? 0 : 1},
                                            .cluster = is_ours(seal) ? seal->all->cluster : ""};
    weir_log(WEIR_LOG_INFO, "erasures sealed", "erasures=%zu cycles=%u", count, seal->cycles);
    weir_rpc_call(seal->all->context->storage, MSG_erase_search, &search, ORCHESTRATOR_ASK_MS,
                  on_searching, seal);
}

/* ---- the write-ahead log ---- */

static void on_cycled(void *owner, const struct weir_rows *rows, const struct weir_error *err)
{
    struct seal *seal = owner;
    if (err != NULL)
        give_up(seal, err);
    else if (weir_rows_bool(rows, 0, 0) || seal->cycles == CYCLES_MAX)
        finish(seal);
    else
        cycle(seal);
}

static void on_checkpoint(void *owner, const struct weir_rows *rows, const struct weir_error *err)
{
    struct seal *seal = owner;
    (void)rows;
    if (err != NULL) {
        give_up(seal, err);
        return;
    }
    WEIR_AUTO_FREE char *sql = weir_format("SELECT coalesce(min(name) > '%s', false) FROM "
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
static void cycle(struct seal *seal)
{
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
    seal->newest_segment = weir_strdup(weir_rows_text(rows, 0, 0));
    cycle(seal);
}

static void cycle_log(struct seal *seal)
{
    if (is_ours(seal))
        weir_db_errand_run(
            seal->errand,
            "SELECT max(name)::text FROM pg_ls_waldir() WHERE name ~ '^[0-9A-F]{24}$'", on_newest,
            seal);
    else
        finish(seal);
}

/* ---- tables ---- */

/* No statement has left dead rows in it since it was rewritten, and no transaction was rolled back: that leaves some
 * anywhere. */
static bool is_touched(const struct seal *seal, size_t table)
{
    const struct weir_rows *now = seal->changes, *before = seal->all->sealed;
    int64_t changes = weir_rows_i64(now, table, 1);
    return before == NULL || changes < 0 || weir_rows_i64(before, table, 1) != changes ||
           weir_rows_i64(before, table, 2) != weir_rows_i64(now, table, 2);
}

/* One that somebody works with is tried again; so is one that an older row version is still read from. */
static void on_rewritten(void *owner, const struct weir_rows *rows, const struct weir_error *err)
{
    struct seal *seal = owner;
    (void)rows;
    if (err != NULL && err->status != WEIR_UNAVAILABLE) {
        give_up(seal, err);
        return;
    }
    if (err == NULL && seal->partition < weir_rows_count(seal->partitions))
        seal->partition++;
    else if (err == NULL)
        seal->table++;
    seal->timer = weir_loop_timer(seal->all->context->loop, err == NULL ? 0 : AGAIN_MS, 0,
                                  rewrite_next, seal);
}

/* Statistics hold common values in clear: those of this table are made anew, and their own table comes last. */
static void rewrite(struct seal *seal, const char *table)
{
    WEIR_AUTO_FREE char *sql = weir_format("VACUUM (FULL, ANALYZE) %s", table);
    seal->is_any_rewritten = true;
    weir_db_errand_run(seal->errand, sql, on_rewritten, seal);
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
        rewrite(seal, weir_rows_text(seal->partitions, seal->partition, 0));
        return;
    }
    while (seal->table < count && !is_touched(seal, seal->table))
        seal->table++;
    if (seal->table < count)
        rewrite(seal, weir_rows_text(seal->changes, seal->table, 0));
    else if (seal->table == count && seal->is_any_rewritten && is_ours(seal))
        rewrite(seal, "pg_catalog.pg_statistic");
    else
        end_rewriting(seal);
}

/* ---- the beginning ---- */

/* Of chunks, the partitions that were touched are known one by one. */
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
    struct erasures *all = seal->all;
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

void orchestrator_seal_look(struct erasures *erasures)
{
    if (erasures->seal != NULL)
        return;
    erasures->seal = weir_calloc(1, sizeof(*erasures->seal));
    erasures->seal->all = erasures;
    weir_rpc_call(erasures->context->storage, MSG_erase_scrubbed_ask, NULL, ORCHESTRATOR_ASK_MS,
                  on_scrubbed, erasures->seal);
}
