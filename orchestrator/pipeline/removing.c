/* REMOVING: the selector lets go of pool, sets and scores, storage no longer keeps changes, files of unfinished runs
 * go. Then one transaction drops the models that nobody needs, says what stays, and, for a rerun, takes the file in
 * again. Rows of triggers and models stay: "which models have seen this sample" is answered for good. */
#include "core/base/log.h"
#include "orchestrator/config/parse.h"
#include "orchestrator/context/events.h"
#include "orchestrator/models/retention.h"
#include "orchestrator/pipeline/pipeline_state.h"
#include "orchestrator/runs/run.h"

#include <stdlib.h>
#include <string.h>

/* ---- the last edge ---- */

/* Models that files of other pipelines start from, a line each. */
static void list_started_from(const struct pipeline *pipeline, struct weir_buf *out)
{
    const char *name = pipeline->config->name;
    for (const struct pipeline *other = pipeline->all->first; other != NULL; other = other->next) {
        if (other->state != PIPELINE_REMOVED && strcmp(other->config->name, name) != 0)
            weir_buf_printf(out, "%s%s", out->size == 0 ? "" : "\n", other->config->start_from);
    }
}

static void add_names(json_t *list, const struct weir_rows *rows)
{
    for (size_t i = 0; i < weir_rows_count(rows); i++)
        json_array_append_new(list, json_string(weir_rows_text(rows, i, "id")));
}

static enum weir_status drop_models(const struct pipeline *pipeline, json_t *dropped,
                                    struct weir_error *err)
{
    WEIR_AUTO_BUF started_from = {0};
    WEIR_AUTO(weir_rows) rows = NULL;
    struct weir_db *db = pipeline->context->db;
    if (pipeline->pending_order == PENDING_ORDER_RERUN)
        return WEIR_OK;
    list_started_from(pipeline, &started_from);
    enum weir_status status =
        DB_RUN(db, Q_models_let_go, &rows, err, DB_TEXT(pipeline->config->name),
               DB_TEXT(weir_buf_text(&started_from)));
    if (status == WEIR_OK)
        status = DB_RUN(db, Q_pipeline_deactivate, NULL, err, DB_TEXT(pipeline->config->name));
    if (status == WEIR_OK)
        status = DB_RUN(db, Q_events_drop, NULL, err, DB_I64(pipeline->id));
    if (status == WEIR_OK)
        add_names(dropped, rows);
    return status;
}

static enum weir_status tell(struct pipeline *pipeline,
                             const struct msg_selection_forgotten *forgotten, json_t *dropped,
                             struct weir_error *err)
{
    WEIR_AUTO(weir_rows) rows = NULL;
    enum weir_status status =
        DB_RUN(pipeline->context->db, Q_models_kept, &rows, err, DB_TEXT(pipeline->config->name));
    if (status != WEIR_OK)
        return status;
    json_t *kept = json_array();
    add_names(kept, rows);
    return orchestrator_event_put(
        pipeline->context,
        &(struct event_about){pipeline->id, 0, "pipeline_removed", "pipeline_removed"},
        JSON_FIELDS(JSON_TEXT("pipeline", pipeline->config->name),
                    JSON_NUMBER("sets", forgotten->sets), JSON_NUMBER("bytes", forgotten->bytes),
                    JSON_NEW("models_dropped", json_incref(dropped)), JSON_NEW("models_kept", kept),
                    JSON_FLAG("again", pipeline->pending_order == PENDING_ORDER_RERUN)),
        err);
}

/* The file that a rerun begins with: the same, or the one that was given for it. */
static struct pipeline_file successor_of(const struct pipeline *pipeline)
{
    bool is_same = pipeline->next_file == NULL;
    return (struct pipeline_file){
        .name = is_same ? pipeline->file : pipeline->next_file,
        .text = weir_buf_view(is_same ? &pipeline->text : &pipeline->next_text),
        .owner = pipeline->owner,
    };
}

static enum weir_status add_successor(struct pipeline *pipeline, struct weir_error *err)
{
    struct pipeline_file next = successor_of(pipeline);
    WEIR_AUTO(orchestrator_config) config = NULL;
    enum weir_status status = orchestrator_config_parse(next.name, next.text, &config, err);
    return status == WEIR_OK ? orchestrator_pipeline_add_row(pipeline->all, &next, config,
                                                             &pipeline->successor, err)
                             : status;
}

static enum weir_status effect_cleared(struct pipeline *pipeline, const void *what,
                                       struct weir_error *err)
{
    struct pipelines *all = pipeline->all;
    json_t *dropped = json_array();
    enum weir_status status = drop_models(pipeline, dropped, err);
    if (status == WEIR_OK)
        status = DB_RUN(all->context->db, Q_runs_drop, NULL, err, DB_I64(pipeline->id));
    if (status == WEIR_OK)
        status = DB_RUN(all->context->db, Q_decisions_drop, NULL, err, DB_I64(pipeline->id));
    if (status == WEIR_OK)
        status = tell(pipeline, what, dropped, err);
    json_decref(dropped);
    if (status == WEIR_OK)
        status =
            DB_RUN(all->context->db, Q_pipeline_wish, NULL, err, DB_I64(pipeline->id), DB_TEXT(""));
    return status == WEIR_OK && pipeline->pending_order == PENDING_ORDER_RERUN
               ? add_successor(pipeline, err)
               : status;
}

/* As the row that the last edge has made has it. */
static void begin_successor(struct pipeline *pipeline)
{
    struct weir_error err;
    struct pipeline_file next = successor_of(pipeline);
    WEIR_AUTO(orchestrator_config) config = NULL;
    enum weir_status status = orchestrator_config_parse(next.name, next.text, &config, &err);
    if (status == WEIR_OK) {
        status = orchestrator_pipeline_begin_new(pipeline->all, pipeline->successor, &next,
                                                 WEIR_TAKE(config), &err);
    }
    if (status != WEIR_OK)
        weir_log(WEIR_LOG_WARN, "pipeline begins with the next start", "pipeline=%s because=\"%s\"",
                 pipeline->config->name, err.text);
}

static void clear(struct pipeline *pipeline)
{
    struct weir_error err;
    if (!orchestrator_pipeline_advance(pipeline, PIPELINE_ON_CLEARED, effect_cleared,
                                       &pipeline->forgotten))
        return;
    if (pipeline->pending_order == PENDING_ORDER_RERUN)
        begin_successor(pipeline);
    pipeline->pending_order = PENDING_ORDER_NONE;
    if (orchestrator_models_end_dropping(pipeline->context, &err) != WEIR_OK)
        weir_log(WEIR_LOG_WARN, "files of dropped models stay for now", "%s", err.text);
}

/* ---- what others hold ---- */

static void on_feed_ended(void *owner, const struct weir_reply *reply, const struct weir_error *err)
{
    struct pipeline *pipeline = owner;
    (void)reply;
    (void)err; /* lost: the consumer expires */
    if (--pipeline->readers_left == 0)
        clear(pipeline);
}

static void on_forgotten(void *owner, const struct weir_reply *reply, const struct weir_error *err)
{
    struct pipeline *pipeline = owner;
    if (reply == NULL) {
        orchestrator_pipeline_trouble(pipeline, err->status, err);
        return;
    }
    pipeline->forgotten = *(const struct msg_selection_forgotten *)reply->message;
    pipeline->readers_left = PIPELINE_READERS;
    orchestrator_pipeline_end_feed(pipeline, on_feed_ended);
}

/* Nobody will finish them. */
enum weir_status orchestrator_pipeline_drop_runs(const struct pipeline *pipeline,
                                                 struct weir_error *err)
{
    WEIR_AUTO(weir_rows) rows = NULL;
    struct pipelines *all = pipeline->all;
    enum weir_status status =
        DB_RUN(all->context->db, Q_runs_unfinished, &rows, err, DB_I64(pipeline->id));
    for (size_t i = 0; status == WEIR_OK && i < weir_rows_count(rows); i++) {
        int64_t number = weir_rows_i64(rows, i, "number");
        weir_rpc_send(all->context->dispatcher, MSG_job_close,
                      &(struct msg_job_close){.job = (uint64_t)number});
        status = orchestrator_run_remove_files(all->context, number, err);
    }
    return status;
}

void orchestrator_pipeline_clear(struct pipeline *pipeline)
{
    struct weir_error err;
    enum weir_status status = orchestrator_pipeline_drop_runs(pipeline, &err);
    if (status != WEIR_OK) {
        orchestrator_pipeline_trouble(pipeline, status, &err);
        return;
    }
    struct msg_selection_forget forget = {.pipeline = pipeline->config->name};
    weir_rpc_call(pipeline->context->selector, MSG_selection_forget, &forget,
                  ORCHESTRATOR_REQUEST_MS, on_forgotten, pipeline);
}
