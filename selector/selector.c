/* Opens and closes the service, keeps its pipelines, and lets it follow the feeds by the clock. */
#include "selector/selector.h"

#include "core/base/clock.h"
#include "core/base/log.h"
#include "core/base/memory.h"
#include "selector/examination.h"
#include "selector/retention.h"
#include "selector/sql/queries.h"
#include "selector/tasks/task_queue.h"
#include "selector/tasks/task_steps.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

/* Period of reading feeds without being asked: a select then has little left to read, and storage
 * may forget changes that every consumer has read. */
enum { FOLLOW_MS = 2000 };
/* Period of sweeping sets that are no longer needed. */
enum { SWEEP_MS = 3600 * 1000 };

static void on_follow_time(void *owner)
{
    struct selector_queue *queue = owner;
    if (queue->stepping != NULL)
        return; /* busy, and it reads the feed anyway */
    for (size_t i = 0; i < queue->pipelines.count; i++)
        selector_task_follow(queue, queue->pipelines.of[i]->name);
}

/* Pipelines that were followed before a restart go on being followed. */
static enum weir_status load_known(struct selector_pipelines *pipelines, struct weir_error *err)
{
    WEIR_AUTO(weir_rows) rows = NULL;
    enum weir_status status = DB_RUN(pipelines->db, Q_list_pipelines, &rows, err);
    for (size_t i = 0; status == WEIR_OK && i < weir_rows_count(rows); i++) {
        struct selector_pipeline *pipeline = NULL;
        status =
            selector_pipelines_find(pipelines, weir_rows_text(rows, i, "name"), &pipeline, err);
        if (status != WEIR_INVALID)
            continue;
        weir_log(WEIR_LOG_ERROR, "a stored pipeline is not understood", "pipeline=%s error=\"%s\"",
                 weir_rows_text(rows, i, "name"), err->text);
        status = WEIR_OK; /* of another version, maybe: the others go on */
    }
    return status;
}

static void open_threads(struct selector_queue *queue, const char *postgres)
{
    for (size_t i = 0; i < SELECTOR_THREADS; i++)
        queue->threads[i].db =
            weir_db_new(postgres, "selector", SELECTOR_QUERIES, SELECTOR_QUERY_COUNT);
}

static enum weir_status open_steps(struct selector *selector,
                                   const struct weir_service_options *options,
                                   struct weir_error *err)
{
    enum weir_status status = weir_db_open(options->postgres, "selector", SELECTOR_QUERIES,
                                           SELECTOR_QUERY_COUNT, &selector->queue.db, err);
    if (status == WEIR_OK)
        status = weir_db_migrate(selector->queue.db, SELECTOR_MIGRATIONS, SELECTOR_MIGRATIONS_count,
                                 err);
    if (status == WEIR_OK)
        status = weir_lived_tick(&selector->lived, selector->queue.db, Q_live, weir_now_ms(), err);
    if (status != WEIR_OK)
        return status;
    open_threads(&selector->queue, options->postgres);
    selector->queue.pipelines.db = selector->queue.db;
    WEIR_AUTO_FREE char *endpoint = weir_service_endpoint(options->socket_dir, "storage");
    status =
        weir_rpc_connect(selector->queue.loop, endpoint, NULL, NULL, &selector->queue.storage, err);
    return status != WEIR_OK ? status : load_known(&selector->queue.pipelines, err);
}

static bool is_source(const struct selector_pipelines *pipelines, const char *pipeline)
{
    for (size_t i = 0; i < pipelines->count; i++) {
        const struct selector_section *section = pipelines->of[i]->section;
        const struct selection_scored *scored = selector_section_scored(section, 1);
        if (scored != NULL && scored->from != NULL && weir_str_equal(scored->from, pipeline))
            return true;
    }
    return false;
}

/* All pipelines have to be understood: one that is not could take the scores of any other. */
static enum weir_status drop_scores(struct selector_pipelines *pipelines, int64_t before_us,
                                    struct weir_error *err)
{
    WEIR_AUTO(weir_rows) rows = NULL;
    struct selector_pipeline *pipeline = NULL;
    enum weir_status status = DB_RUN(pipelines->db, Q_list_pipelines, &rows, err);
    for (size_t i = 0; status == WEIR_OK && i < weir_rows_count(rows); i++)
        status =
            selector_pipelines_find(pipelines, weir_rows_text(rows, i, "name"), &pipeline, err);
    for (size_t i = 0; status == WEIR_OK && i < weir_rows_count(rows); i++)
        if (!is_source(pipelines, weir_rows_text(rows, i, "name")))
            status = selector_retention_drop_scores(pipelines->db, weir_rows_text(rows, i, "name"),
                                                    before_us, err);
    return status;
}

static void sweep_scores(struct selector *selector, int64_t before_us)
{
    struct selector_swept swept;
    struct weir_error err;
    enum weir_status status = drop_scores(&selector->queue.pipelines, before_us, &err);
    if (status == WEIR_OK)
        status = selector_retention_sweep_scores(selector->queue.db, selector->queue.data_dir,
                                                 &swept, &err);
    if (status != WEIR_OK)
        weir_log(WEIR_LOG_WARN, "scores are not swept", "error=\"%s\"", err.text);
    else if (swept.removed > 0)
        weir_log(WEIR_LOG_INFO, "scores swept", "removed=%" PRIu64 " bytes=%" PRIu64, swept.removed,
                 swept.removed_bytes);
}

/* Sweeps between two tasks, when no set is being written. A failed sweep is tried again. */
static void sweep(struct selector *selector, bool at_start)
{
    struct selector_swept swept;
    struct weir_error err;
    int64_t keep_us = selector_pipelines_keep_us(&selector->queue.pipelines);
    if (keep_us == 0)
        return; /* no pipeline declares a time */
    if (selector_retention_sweep(selector->queue.db, selector->queue.data_dir,
                                 selector->lived.us - keep_us, at_start, &swept, &err) != WEIR_OK)
        weir_log(WEIR_LOG_WARN, "sets are not swept", "error=\"%s\"", err.text);
    else if (swept.removed > 0)
        weir_log(WEIR_LOG_INFO, "sets swept",
                 "removed=%" PRIu64 " bytes=%" PRIu64 " kept=%" PRIu64 " bytes_kept=%" PRIu64,
                 swept.removed, swept.removed_bytes, swept.kept, swept.kept_bytes);
    sweep_scores(selector, selector->lived.us - keep_us);
}

static void count_time(struct selector *selector)
{
    struct weir_error err;
    if (weir_lived_tick(&selector->lived, selector->queue.db, Q_live, weir_now_ms(), &err) !=
        WEIR_OK)
        weir_log(WEIR_LOG_DEBUG, "time not counted yet", "error=\"%s\"", err.text);
}

static void on_sweep_time(void *owner)
{
    struct selector *selector = owner;
    count_time(selector);
    if (selector->queue.count == 0)
        sweep(selector, false);
}

enum weir_status selector_open(const struct weir_service_options *options, struct weir_loop *loop,
                               struct weir_rpc_server *server, void **ret_state,
                               struct weir_error *err)
{
    struct selector *selector = weir_calloc(1, sizeof(*selector));
    TAILQ_INIT(&selector->queue.tasks);
    selector->queue.step = selector_task_step;
    selector->queue.loop = loop;
    selector->queue.server = server;
    selector->queue.data_dir = weir_strdup(options->data_dir);
    selector->queue.columns.directory = selector->queue.data_dir;
    enum weir_status status = open_steps(selector, options, err);
    if (status != WEIR_OK) {
        selector_close(selector);
        return status;
    }
    sweep(selector, true);
    selector->sweep_timer = weir_loop_timer(loop, SWEEP_MS, SWEEP_MS, on_sweep_time, selector);
    selector->follow_timer =
        weir_loop_timer(loop, FOLLOW_MS, FOLLOW_MS, on_follow_time, &selector->queue);
    *ret_state = selector;
    return WEIR_OK;
}

void selector_close(void *state)
{
    struct selector *selector = state;
    if (selector == NULL)
        return;
    weir_loop_cancel(selector->queue.loop, selector->follow_timer);
    weir_loop_cancel(selector->queue.loop, selector->sweep_timer);
    if (selector->sweep_timer != 0)
        count_time(selector);
    weir_loop_cancel(selector->queue.loop, selector->queue.next_timer);
    weir_rpc_peer_close(selector->queue.storage);
    selector_task_drop_all(&selector->queue);
    selector_labelling_drop_all(&selector->labellings);
    selector_examination_free(selector->examination);
    selector_pipelines_fini(&selector->queue.pipelines);
    selector_columns_fini(&selector->queue.columns);
    selector_serving_fini(&selector->serving);
    for (size_t i = 0; i < SELECTOR_THREADS; i++)
        weir_db_close(selector->queue.threads[i].db);
    weir_db_close(selector->queue.db);
    free(selector->queue.data_dir);
    free(selector);
}

void selector_wipe(void *state, const struct weir_request *request, struct msg_wiped *answer)
{
    struct selector *selector = state;
    (void)request;
    (void)answer;
    selector_queue_wipe(&selector->queue);
    weir_rpc_peer_renew(selector->queue.storage);
    weir_db_renew(selector->queue.db);
}
