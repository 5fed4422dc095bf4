/* status: how the platform and its pipelines stand. Pipelines are asked about a few at a time: each takes several
 * statements, and meanwhile nobody else is heard. */
#include "core/base/clock.h"
#include "core/base/memory.h"
#include "orchestrator/context/events.h"
#include "orchestrator/erasures/erasure.h"
#include "orchestrator/pipeline/pipeline.h"
#include "orchestrator/pipeline/spending.h"
#include "orchestrator/pipeline/timeline.h"
#include "orchestrator/runs/run.h"
#include "orchestrator/topics/topic.h"
#include "orchestrator/values/json_number.h"

#include <string.h>

enum {
    ERASURES_LISTED_MAX = 1000,
    FIRED_SHOWN = 100,      /* newest triggers of a pipeline; of many pipelines fewer, so that */
    FIRED_SHOWN_MAX = 2000, /* all of them fit into a message */
    STEP_MS = 10,
};

static json_t *progress_json(const struct topics *topics, int64_t pipeline)
{
    struct run_progress progress;
    if (!orchestrator_run_progress(topics->runs, pipeline, &progress))
        return json_null();
    double spent_ns = (double)(progress.busy_ns + progress.wait_ns);
    return JSON_FIELDS(
        JSON_TEXT("mode", progress.mode), JSON_NUMBER("trigger", progress.trigger),
        JSON_NUMBER("samples", progress.samples),
        JSON_NUMBER("samples_total", progress.samples_total),
        JSON_NEW("loss", orchestrator_json_number(progress.loss)),
        JSON_NEW("metrics",
                 orchestrator_json_of(progress.metrics != NULL ? progress.metrics : "{}")),
        JSON_DOUBLE("stall_fraction", spent_ns > 0 ? (double)progress.wait_ns / spent_ns : 0.0),
        JSON_TEXT_IF_ANY("stage", progress.stage[0] != '\0' ? progress.stage : NULL));
}

/* The newest check of its trigger policy, why it fired or did not; null: there was none. */
static enum weir_status add_check(struct topics *topics, int64_t pipeline, json_t *json,
                                  struct weir_error *err)
{
    json_t *checks = json_array();
    enum weir_status status = orchestrator_topic_add_checks(topics, pipeline, 1, checks, err);
    json_t *newest = json_array_get(checks, 0);
    json_object_set(json, "check", newest == NULL ? json_null() : newest);
    json_decref(checks);
    return status;
}

/* Why each of the newest triggers fired; `most` of them. */
static enum weir_status add_fired(struct topics *topics, int64_t pipeline, int64_t most,
                                  json_t *json, struct weir_error *err)
{
    WEIR_AUTO(weir_rows) rows = NULL;
    enum weir_status status =
        DB_RUN(topics->context->db, Q_triggers_newest, &rows, err, DB_I64(pipeline), DB_I64(most));
    json_t *fired = json_array();
    for (size_t i = 0; status == WEIR_OK && i < weir_rows_count(rows); i++) {
        bool checked = !weir_rows_is_null(rows, i, "json");
        json_t *decision =
            checked ? orchestrator_topic_decision(weir_rows_text(rows, i, "json")) : json_null();
        json_array_append_new(
            fired, JSON_FIELDS(JSON_NUMBER("trigger", weir_rows_i64(rows, i, "number")),
                               JSON_TEXT("state", weir_rows_text(rows, i, "state")),
                               JSON_TEXT("reason", weir_rows_text(rows, i, "reason")),
                               JSON_NUMBER("samples_new", weir_rows_i64(rows, i, "samples_new")),
                               JSON_TIME("until", weir_rows_i64(rows, i, "until_time")),
                               JSON_NEW("decision", decision)));
    }
    json_object_set_new(json, "fired", fired);
    return status;
}

static enum weir_status add_budgets(const struct pipeline *pipeline, json_t *json,
                                    struct weir_error *err)
{
    struct pipeline_spending spending[PIPELINE_BUDGETS_MAX];
    size_t count;
    enum weir_status status = orchestrator_pipeline_spending(pipeline, spending, &count, err);
    json_t *budgets = json_array();
    for (size_t i = 0; i < count; i++)
        json_array_append_new(budgets, orchestrator_pipeline_spending_json(pipeline, &spending[i]));
    json_object_set_new(json, "budgets", budgets);
    return status;
}

/* Samples that its trainings could not hand out. */
static enum weir_status add_unread(struct topics *topics, int64_t pipeline, json_t *json,
                                   struct weir_error *err)
{
    WEIR_AUTO(weir_rows) rows = NULL;
    enum weir_status status =
        DB_RUN(topics->context->db, Q_run_unread, &rows, err, DB_I64(pipeline));
    if (status == WEIR_OK)
        json_object_set_new(
            json, "unread",
            JSON_FIELDS(JSON_NUMBER("failed", weir_rows_i64(rows, 0, "failed")),
                        JSON_NUMBER("filtered", weir_rows_i64(rows, 0, "filtered"))));
    return status;
}

/* From data to model, of the newest trigger that made one; null: there was none. */
static enum weir_status add_timeline(struct topics *topics, int64_t pipeline, json_t *json,
                                     struct weir_error *err)
{
    WEIR_AUTO(weir_rows) rows = NULL;
    enum weir_status status =
        DB_RUN(topics->context->db, Q_trigger_timeline, &rows, err, DB_I64(pipeline));
    if (status != WEIR_OK)
        return status;
    json_t *timeline =
        weir_rows_count(rows) == 0 ? json_null() : orchestrator_pipeline_timeline_json(rows, 0, 0);
    if (json_is_object(timeline))
        json_object_set_new(timeline, "trigger", json_integer(weir_rows_i64(rows, 0, "number")));
    json_object_set_new(json, "timeline", timeline);
    return WEIR_OK;
}

static enum weir_status pipeline_json(const struct topic_call *call, json_t **ret_json,
                                      struct weir_error *err)
{
    struct topics *topics = call->all;
    const struct pipeline *pipeline = call->pipeline;
    const struct orchestrator_config *config = orchestrator_pipeline_config(pipeline);
    int64_t id = orchestrator_pipeline_id(pipeline);
    WEIR_AUTO(weir_rows) counts = NULL;
    WEIR_AUTO(weir_rows) cost_row = NULL;
    enum weir_status status =
        DB_RUN(topics->context->db, Q_pipeline_counts, &counts, err, DB_I64(id));
    if (status == WEIR_OK)
        status = DB_RUN(topics->context->db, Q_run_cost, &cost_row, err, DB_I64(id));
    if (status != WEIR_OK)
        return status;
    struct orchestrator_cost cost = orchestrator_run_cost(cost_row, 0);
    WEIR_AUTO_BUF text = {0};
    orchestrator_cost_json(&topics->context->prices, &cost, &text);
    enum pipeline_state state = orchestrator_pipeline_state(pipeline);
    *ret_json = JSON_FIELDS(
        JSON_TEXT("pipeline", config->name),
        JSON_TEXT("mode", config->mode == MODE_LIVE ? "live" : "replay"),
        JSON_TEXT("state", orchestrator_pipeline_state_name(state)),
        JSON_TEXT("doing", orchestrator_pipeline_state_text(state)),
        JSON_TEXT("error", orchestrator_pipeline_error(pipeline)),
        JSON_NUMBER("triggers", weir_rows_i64(counts, 0, "triggers")),
        JSON_NUMBER("skipped", weir_rows_i64(counts, 0, "skipped")),
        JSON_NUMBER("models", weir_rows_i64(counts, 0, "models")),
        JSON_TEXT_OR_NULL("active_model", weir_rows_text_or_null(counts, 0, "active_model")),
        JSON_NEW("progress", progress_json(topics, id)),
        JSON_NEW("cost", orchestrator_json_of(weir_buf_text(&text))));
    status = add_check(topics, id, *ret_json, err);
    if (status == WEIR_OK)
        status = add_fired(topics, id, call->number, *ret_json, err);
    if (status == WEIR_OK)
        status = add_budgets(pipeline, *ret_json, err);
    if (status == WEIR_OK)
        status = add_unread(topics, id, *ret_json, err);
    return status == WEIR_OK ? add_timeline(topics, id, *ret_json, err) : status;
}

/* The first ones, and how many there are. */
static enum weir_status erasures_json(struct topics *topics, json_t *erasures, int64_t *ret_count,
                                      struct weir_error *err)
{
    WEIR_AUTO(weir_rows) rows = NULL;
    WEIR_AUTO(weir_rows) count = NULL;
    enum weir_status status =
        DB_RUN(topics->context->db, Q_erasure_open, &rows, err, DB_I64(ERASURES_LISTED_MAX));
    if (status == WEIR_OK)
        status = DB_RUN(topics->context->db, Q_erasure_open_count, &count, err);
    if (status == WEIR_OK)
        *ret_count = weir_rows_i64(count, 0, "count");
    for (size_t i = 0; status == WEIR_OK && i < weir_rows_count(rows); i++)
        json_array_append_new(erasures, json_integer(weir_rows_i64(rows, i, "number")));
    return status;
}

/* Those of the pipelines that the sender sees. */
static struct arbiter_view trainers_of(const struct topic_call *call)
{
    const struct topics *topics = call->all;
    struct arbiter_view view = orchestrator_arbiter_look(topics->runs->arbiter);
    if (call->sender.tenant[0] == '\0')
        return view;
    view.busy = view.waiting = view.gpus_busy = 0;
    for (const struct pipeline *p = topics->pipelines->first; p != NULL;
         p = orchestrator_pipeline_next(p)) {
        if (!orchestrator_topic_sees(call, p))
            continue;
        const struct arbiter_view own =
            orchestrator_arbiter_look_at(topics->runs->arbiter, orchestrator_pipeline_id(p));
        view.busy += own.busy;
        view.waiting += own.waiting;
        view.gpus_busy += own.gpus_busy;
    }
    return view;
}

static json_t *trainers_json(const struct topic_call *call)
{
    const struct arbiter_view view = trainers_of(call);
    return JSON_FIELDS(JSON_NUMBER("slots", view.slots), JSON_NUMBER("busy", view.busy),
                       JSON_NUMBER("waiting", view.waiting), JSON_NUMBER("gpus", view.gpus),
                       JSON_NUMBER("gpus_busy", view.gpus_busy));
}

/* The address without its key; NULL stays NULL. */
static char *listen_text(const char *address)
{
    return address != NULL ? weir_strndup(address, strcspn(address, "#")) : NULL;
}

static void answer(struct topic_call *call)
{
    struct topics *topics = call->all;
    struct weir_error err;
    int64_t open = 0;
    json_t *erasures = json_array();
    bool is_tenant = call->sender.tenant[0] != '\0'; /* erasures are the whole platform's */
    if (!is_tenant && erasures_json(topics, erasures, &open, &err) != WEIR_OK) {
        json_decref(erasures);
        orchestrator_topic_refuse(call, &err);
        return;
    }
    WEIR_AUTO_FREE char *listen = listen_text(topics->context->remote);
    orchestrator_topic_answer(
        call,
        JSON_FIELDS(
            JSON_TEXT("data_dir", topics->context->data_dir), JSON_TEXT_OR_NULL("listen", listen),
            JSON_FLAG("held", topics->pipelines->are_held),
            JSON_NUMBER("up_ms", weir_now_ms() - topics->started_ms),
            JSON_TEXT_OR_NULL("metrics", topics->metrics), JSON_TEXT_OR_NULL("page", topics->page),
            JSON_NEW("trainers", trainers_json(call)),
            JSON_NEW("pipelines", json_incref(call->collected)),
            JSON_NEW("erasures_open", erasures), JSON_NUMBER("erasures_open_count", open)));
}

static bool is_shown(const struct topic_call *call, const struct pipeline *pipeline)
{
    return orchestrator_pipeline_state(pipeline) != PIPELINE_REMOVED &&
           orchestrator_topic_sees(call, pipeline);
}

/* Pipelines stay in memory, and new ones stand before the first. */
static void step(void *owner)
{
    struct topic_call *call = owner;
    struct weir_error err;
    int64_t until_ms = weir_now_ms() + STEP_MS;
    call->timer = 0;
    for (; call->pipeline != NULL; call->pipeline = orchestrator_pipeline_next(call->pipeline)) {
        json_t *one = NULL;
        if (!is_shown(call, call->pipeline))
            continue;
        if (weir_now_ms() >= until_ms) {
            call->timer = weir_loop_timer(call->context->loop, 0, 0, step, call);
            return;
        }
        if (pipeline_json(call, &one, &err) != WEIR_OK) {
            json_decref(one);
            orchestrator_topic_refuse(call, &err);
            return;
        }
        json_array_append_new(call->collected, one);
    }
    answer(call);
}

void orchestrator_topic_status(struct topic_call *call)
{
    int64_t count = 0;
    for (const struct pipeline *p = call->all->pipelines->first; p != NULL;
         p = orchestrator_pipeline_next(p))
        count += is_shown(call, p);
    call->number = count * FIRED_SHOWN > FIRED_SHOWN_MAX ? FIRED_SHOWN_MAX / count : FIRED_SHOWN;
    call->collected = json_array();
    call->pipeline = call->all->pipelines->first;
    step(call);
}
