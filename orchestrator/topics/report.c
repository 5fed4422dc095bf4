/* report: one row per trigger of a pipeline: why it fired, what was selected, how training went, how good the model is
 * on what came next, what it cost. */
#include "orchestrator/context/events.h"
#include "orchestrator/models/store.h"
#include "orchestrator/pipeline/pipeline.h"
#include "orchestrator/pipeline/timeline.h"
#include "orchestrator/runs/run.h"
#include "orchestrator/topics/topic.h"

enum { CHECKS_SHOWN = 100 };

/* Columns of Q_report. */
enum {
    COL_NUMBER,
    COL_STATE,
    COL_REASON,
    COL_NEW,
    COL_UNTIL,
    COL_SELECTED,
    COL_SKIPPED,
    COL_DIGEST,
    COL_AUDIT,
    COL_BUSY,
    COL_WAIT,
    COL_MODEL,
    COL_PARENT,
    COL_COST,
    COL_ORIGINAL,
    COL_DECISION,
    COL_TIMES, /* the first of seven: see pipeline/timeline.h */
};

static void add_training(json_t *row, const struct weir_rows *rows, size_t i)
{
    if (weir_rows_is_null(rows, i, COL_AUDIT))
        return;
    json_t *audit = orchestrator_json_of(weir_rows_text(rows, i, COL_AUDIT));
    double seconds =
        (double)(weir_rows_i64(rows, i, COL_BUSY) + weir_rows_i64(rows, i, COL_WAIT)) / 1e9;
    double samples = (double)json_integer_value(json_object_get(audit, "delivered"));
    json_object_set_new(row, "samples", json_integer((json_int_t)samples));
    json_object_set_new(row, "seconds", json_real(seconds));
    json_object_set_new(row, "samples_per_second", json_real(seconds > 0 ? samples / seconds : 0));
    json_object_set_new(
        row, "stall_fraction",
        json_real(seconds > 0 ? (double)weir_rows_i64(rows, i, COL_WAIT) / 1e9 / seconds : 0));
    json_object_set_new(row, "audit", audit);
}

enum weir_status topic_add_checks(struct topics *topics, int64_t pipeline, int64_t most,
                                  json_t *checks, struct weir_error *err)
{
    WEIR_AUTO(weir_rows) rows = NULL;
    enum weir_status status =
        DB_RUN(topics->context->db, Q_decision_newest, &rows, err, DB_I64(pipeline), DB_I64(most));
    for (size_t i = 0; status == WEIR_OK && i < weir_rows_count(rows); i++) {
        json_t *decision = orchestrator_json_of(weir_rows_text(rows, i, 1));
        int64_t trigger = weir_rows_i64(rows, i, 0);
        if (trigger > 0)
            json_object_set_new(decision, "trigger", json_integer(trigger));
        json_array_append_new(checks, decision);
    }
    return status;
}

/* Metrics of the model; a replacement that was not measured shows none. */
static enum weir_status add_evaluations(struct topics *topics, int64_t pipeline, const char *model,
                                        json_t *row, struct weir_error *err)
{
    WEIR_AUTO(weir_rows) rows = NULL;
    enum weir_status status = DB_RUN(topics->context->db, Q_evaluation_of_model, &rows, err,
                                     DB_I64(pipeline), DB_TEXT(model));
    json_t *array = json_array();
    for (size_t i = 0; status == WEIR_OK && i < weir_rows_count(rows); i++) {
        json_t *value = weir_rows_is_null(rows, i, 4) ? json_string("undefined")
                                                      : json_real(weir_rows_f64(rows, i, 4));
        json_array_append_new(array,
                              json_pack("{ss,so,so,ss,so,sI}", "name", weir_rows_text(rows, i, 0),
                                        "from", orchestrator_json_time(weir_rows_i64(rows, i, 1)),
                                        "to", orchestrator_json_time(weir_rows_i64(rows, i, 2)),
                                        "metric", weir_rows_text(rows, i, 3), "value", value,
                                        "samples", (json_int_t)weir_rows_i64(rows, i, 5)));
    }
    json_object_set_new(row, "evaluations", array);
    return status;
}

static enum weir_status add_row(struct topics *topics, int64_t pipeline,
                                const struct weir_rows *rows, size_t i, json_t *report,
                                struct weir_error *err)
{
    bool stored = !weir_rows_is_null(rows, i, COL_MODEL);
    json_t *row = json_pack(
        "{sI,ss,ss,sI,so,sI,ss,ss}", "trigger", (json_int_t)weir_rows_i64(rows, i, COL_NUMBER),
        "state", weir_rows_text(rows, i, COL_STATE), "reason", weir_rows_text(rows, i, COL_REASON),
        "samples_new", (json_int_t)weir_rows_i64(rows, i, COL_NEW), "until",
        orchestrator_json_time(weir_rows_i64(rows, i, COL_UNTIL)), "selected",
        (json_int_t)weir_rows_i64(rows, i, COL_SELECTED), "skipped",
        weir_rows_text(rows, i, COL_SKIPPED), "digest", weir_rows_text(rows, i, COL_DIGEST));
    if (!weir_rows_is_null(rows, i, COL_DECISION)) {
        json_object_set_new(row, "decision",
                            orchestrator_json_of(weir_rows_text(rows, i, COL_DECISION)));
    }
    json_object_set_new(row, "costs", json_object());
    json_object_set_new(row, "timeline", pipeline_timeline_json(rows, i, COL_TIMES));
    add_training(row, rows, i);
    json_array_append_new(report, row);
    if (!stored)
        return WEIR_OK;
    const char *model = weir_rows_text(rows, i, COL_MODEL);
    json_object_set_new(row, "model", json_string(model));
    json_object_set_new(row, "parent",
                        weir_rows_is_null(rows, i, COL_PARENT)
                            ? json_null()
                            : json_string(weir_rows_text(rows, i, COL_PARENT)));
    json_object_set_new(row, "cost", orchestrator_json_of(weir_rows_text(rows, i, COL_COST)));
    enum weir_status status = add_evaluations(topics, pipeline, model, row, err);
    const json_t *measured = json_object_get(row, "evaluations");
    if (status == WEIR_OK && json_array_size(measured) == 0 &&
        !weir_rows_is_null(rows, i, COL_ORIGINAL)) {
        const char *original = weir_rows_text(rows, i, COL_ORIGINAL);
        json_object_set_new(row, "evaluations_of", json_string(original));
        status = add_evaluations(topics, pipeline, original, row, err);
    }
    return status;
}

/* Cost of each trigger, by the mode of its runs. */
static enum weir_status add_costs(struct topics *topics, int64_t pipeline, json_t *report,
                                  struct weir_error *err)
{
    WEIR_AUTO(weir_rows) rows = NULL;
    enum weir_status status =
        DB_RUN(topics->context->db, Q_run_cost_by_mode, &rows, err, DB_I64(pipeline));
    size_t at = 0; /* both ascend */
    for (size_t i = 0; status == WEIR_OK && i < weir_rows_count(rows); i++) {
        const struct orchestrator_cost cost = orchestrator_run_cost(rows, i, 2);
        WEIR_AUTO_BUF text = {0};
        json_t *row;
        while ((row = json_array_get(report, at)) != NULL &&
               json_integer_value(json_object_get(row, "trigger")) < weir_rows_i64(rows, i, 0))
            at++;
        orchestrator_cost_json(&topics->context->prices, &cost, &text);
        json_object_set_new(json_object_get(row, "costs"), weir_rows_text(rows, i, 1),
                            orchestrator_json_of(weir_buf_text(&text)));
    }
    return status;
}

void topic_report(struct topic_call *call)
{
    struct topics *topics = call->all;
    struct weir_error err;
    const struct pipeline *pipeline = topic_pipeline(call);
    if (pipeline == NULL)
        return;
    int64_t id = orchestrator_pipeline_id(pipeline);
    WEIR_AUTO(weir_rows) rows = NULL;
    json_t *report = json_array();
    enum weir_status status = DB_RUN(topics->context->db, Q_report, &rows, &err, DB_I64(id));
    for (size_t i = 0; status == WEIR_OK && i < weir_rows_count(rows); i++)
        status = add_row(topics, id, rows, i, report, &err);
    if (status == WEIR_OK)
        status = add_costs(topics, id, report, &err);
    json_t *checks = json_array();
    if (status == WEIR_OK)
        status = topic_add_checks(topics, id, CHECKS_SHOWN, checks, &err);
    if (status != WEIR_OK) {
        json_decref(report);
        json_decref(checks);
        topic_refuse(call, &err);
        return;
    }
    topic_answer(call, json_pack("{ss,ss,so,so}", "pipeline",
                                 orchestrator_pipeline_config(pipeline)->name, "state",
                                 pipeline_state_name(orchestrator_pipeline_state(pipeline)),
                                 "triggers", report, "checks", checks));
}
