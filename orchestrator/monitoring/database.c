/* Triggers, models and erasures, which only the tables know, and the size of the cache. All of it is read on a thread,
 * over a connection that is opened for it, so that a table which is locked or large keeps nobody waiting. */
#include "orchestrator/monitoring/parts.h"

#include "core/loop/work.h"
#include "core/wire/cache_segment.h"
#include "orchestrator/erasures/erasure.h"

#include <sys/stat.h>

#define US_PER_SECOND 1e6

struct database {
    struct weir_work *work; /* NULL: none */
    /* The thread's own, until it is over. */
    const char *postgres, *data_dir;
    int64_t now_us;
    int64_t overdue_us; /* erasures that were accepted before are overdue; INT64_MIN: none is */
    struct figures *figures;
    bool is_good;
};

static double age(const struct database *database, int64_t since_us)
{
    int64_t age_us = database->now_us - since_us;
    return since_us == 0 || age_us < 0 ? 0 : (double)age_us / US_PER_SECOND;
}

static enum weir_status add_triggers(struct database *database, struct weir_db *db,
                                     struct weir_error *err)
{
    WEIR_AUTO(weir_rows) rows = NULL;
    enum weir_status status = DB_RUN(db, Q_monitored_triggers, &rows, err);
    for (size_t i = 0; status == WEIR_OK && i < weir_rows_count(rows); i++) {
        const char *name = weir_rows_text(rows, i, "name");
        FIGURE(database->figures, triggers, weir_rows_i64(rows, i, "fired"), name);
        FIGURE(database->figures, triggers_skipped, weir_rows_i64(rows, i, "skipped"), name);
        FIGURE(database->figures, triggers_open, weir_rows_i64(rows, i, "open"), name);
        FIGURE(database->figures, trigger_open_age,
               age(database, weir_rows_i64(rows, i, "oldest_us")), name);
        FIGURE(database->figures, trigger_pending, weir_rows_i64(rows, i, "pending"), name);
    }
    return status;
}

static enum weir_status add_models(struct database *database, struct weir_db *db,
                                   struct weir_error *err)
{
    WEIR_AUTO(weir_rows) rows = NULL;
    enum weir_status status = DB_RUN(db, Q_monitored_models, &rows, err);
    for (size_t i = 0; status == WEIR_OK && i < weir_rows_count(rows); i++) {
        const char *name = weir_rows_text(rows, i, "name");
        int64_t newest_us = weir_rows_i64(rows, i, "newest_us");
        FIGURE(database->figures, models, weir_rows_i64(rows, i, "count"), name);
        FIGURE(database->figures, model_bytes, weir_rows_i64(rows, i, "bytes"), name);
        if (newest_us != 0)
            FIGURE(database->figures, model_age, age(database, newest_us), name);
    }
    return status;
}

static enum weir_status add_erasures(struct database *database, struct weir_db *db,
                                     struct weir_error *err)
{
    WEIR_AUTO(weir_rows) rows = NULL;
    struct figures *figures = database->figures;
    enum weir_status status =
        DB_RUN(db, Q_monitored_erasures, &rows, err, DB_I64(database->overdue_us));
    if (status != WEIR_OK)
        return status;
    FIGURE(figures, erasures_open, weir_rows_i64(rows, 0, "open"), NULL);
    FIGURE(figures, erasures_unforced, weir_rows_i64(rows, 0, "unforced"), NULL);
    FIGURE(figures, erasures_overdue, weir_rows_i64(rows, 0, "overdue"), NULL);
    FIGURE(figures, erasures_troubled, weir_rows_i64(rows, 0, "troubled"), NULL);
    FIGURE(figures, erasure_open_age, age(database, weir_rows_i64(rows, 0, "oldest_us")), NULL);
    FIGURE(figures, erasure_unforced_age, age(database, weir_rows_i64(rows, 0, "unforced_us")),
           NULL);
    FIGURE(figures, erasures_finished, weir_rows_i64(rows, 0, "finished"), NULL);
    return WEIR_OK;
}

/* Files come and go meanwhile. */
static enum weir_status add_file(void *owner, const char *path, bool is_segment,
                                 struct weir_error *err)
{
    uint64_t *bytes = owner;
    struct stat about;
    (void)is_segment, (void)err;
    *bytes += stat(path, &about) == 0 ? (uint64_t)about.st_size : 0;
    return WEIR_OK;
}

static enum weir_status add_cache(struct database *database, struct weir_error *err)
{
    uint64_t bytes = 0;
    enum weir_status status = weir_cache_walk(database->data_dir, add_file, &bytes, err);
    if (status == WEIR_OK)
        FIGURE(database->figures, cache_bytes, bytes, NULL);
    return status;
}

/* ---- the thread ---- */

static void read_tables(struct weir_work *work, void *owner)
{
    const struct monitor_part *part = owner;
    struct database *database = part->state;
    struct weir_error err;
    WEIR_AUTO(weir_db) db = NULL;
    (void)work;
    enum weir_status status = weir_db_open(database->postgres, "orchestrator", ORCHESTRATOR_QUERIES,
                                           ORCHESTRATOR_QUERY_COUNT, &db, &err);
    if (status == WEIR_OK)
        status = add_triggers(database, db, &err);
    if (status == WEIR_OK)
        status = add_models(database, db, &err);
    if (status == WEIR_OK)
        status = add_erasures(database, db, &err);
    if (status == WEIR_OK)
        status = add_cache(database, &err);
    database->is_good = status == WEIR_OK;
}

static void on_read(void *owner)
{
    struct monitor_part *part = owner;
    struct database *database = part->state;
    database->work = NULL;
    orchestrator_monitor_part_end(part, database->is_good, database->is_good);
}

static void begin(struct monitor_part *part)
{
    struct weir_error err;
    struct database *database = part->state;
    /* The deadline of an erasure that is accepted now says how long one has. */
    int64_t now_us = orchestrator_now_us(part->from->context);
    int64_t due_us = orchestrator_erasure_due_us(part->from->pipelines, now_us);
    *database = (struct database){
        .postgres = part->from->postgres,
        .data_dir = part->from->context->data_dir,
        .now_us = now_us,
        .overdue_us = due_us == 0 ? INT64_MIN : now_us - (due_us - now_us),
        .figures = part->draft,
    };
    if (weir_work_start(part->loop, read_tables, on_read, part, &database->work, &err) != WEIR_OK)
        orchestrator_monitor_part_end(part, false, false);
}

static void forget(struct monitor_part *part)
{
    struct database *database = part->state;
    weir_work_stop(database->work);
    database->work = NULL;
}

const struct monitor_source ORCHESTRATOR_MONITOR_DATABASE = {
    .service = "postgres",
    .fresh_ms = MONITOR_FRESH_MS,
    .state_size = sizeof(struct database),
    .begin = begin,
    .forget = forget,
};
