/* report: one row per trigger of a pipeline: why it fired, what was selected, how training went, how good the model is
 * on what came next, what it cost. In pages from the newest to the oldest: a message is bounded, and meanwhile nobody
 * else is heard. */
#include "core/base/bisect.h"
#include "core/base/host.h"
#include "orchestrator/config/facts.h"
#include "orchestrator/context/events.h"
#include "orchestrator/judging/unmeasured.h"
#include "orchestrator/models/store.h"
#include "orchestrator/pipeline/pipeline.h"
#include "orchestrator/pipeline/timeline.h"
#include "orchestrator/runs/run.h"
#include "orchestrator/topics/classes.h"

#include <string.h>

enum {
    CHECKS_SHOWN = 100,
    MOVED_SHOWN = 5,
    TRIGGERS_MAX = INT32_MAX,
    PAGE_TRIGGERS = 500,
    PAGE_MEASURES = 20000,
};

/* The triggers of one answer; none when `last` is before `first`. */
struct page {
    int64_t first, last;
    bool has_older;
};

json_t *orchestrator_topic_decision(const char *text)
{
    json_t *decision = orchestrator_json_of(text);
    json_t *moved = json_object_get(decision, "moved");
    while (json_array_size(moved) > MOVED_SHOWN)
        json_array_remove(moved, json_array_size(moved) - 1);
    return decision;
}

static void add_training(json_t *row, const struct weir_rows *rows, size_t i)
{
    if (weir_rows_is_null(rows, i, "audit"))
        return;
    json_t *audit = orchestrator_json_of(weir_rows_text(rows, i, "audit"));
    double seconds =
        (double)(weir_rows_i64(rows, i, "busy_ns") + weir_rows_i64(rows, i, "wait_ns")) / 1e9;
    double samples = (double)json_integer_value(json_object_get(audit, "delivered"));
    json_object_set_new(row, "samples", json_integer((json_int_t)samples));
    json_object_set_new(row, "seconds", json_real(seconds));
    json_object_set_new(row, "samples_per_second", json_real(seconds > 0 ? samples / seconds : 0));
    json_object_set_new(
        row, "stall_fraction",
        json_real(seconds > 0 ? (double)weir_rows_i64(rows, i, "wait_ns") / 1e9 / seconds : 0));
    json_object_set_new(row, "audit", audit);
}

enum weir_status orchestrator_topic_add_checks(struct topics *topics, int64_t pipeline,
                                               int64_t most, json_t *checks, struct weir_error *err)
{
    WEIR_AUTO(weir_rows) rows = NULL;
    enum weir_status status =
        DB_RUN(topics->context->db, Q_decision_newest, &rows, err, DB_I64(pipeline), DB_I64(most));
    for (size_t i = 0; status == WEIR_OK && i < weir_rows_count(rows); i++) {
        json_t *decision = orchestrator_topic_decision(weir_rows_text(rows, i, "json"));
        int64_t trigger = weir_rows_i64(rows, i, "trigger");
        if (trigger > 0)
            json_object_set_new(decision, "trigger", json_integer(trigger));
        json_array_append_new(checks, decision);
    }
    return status;
}

struct topic_measures orchestrator_topic_measures_of(const struct weir_rows *measures,
                                                     const char *model, size_t from)
{
    size_t first = 0, end = weir_rows_count(measures), most = end;
    WEIR_BISECT(first, most, at, strcmp(weir_rows_text(measures, at, "model"), model) < 0);
    size_t behind = first;
    WEIR_BISECT(behind, end, at, strcmp(weir_rows_text(measures, at, "model"), model) <= 0);
    first = behind - first > from ? first + from : behind;
    size_t told = behind - first < TOPIC_MEASURES_MAX ? behind - first : TOPIC_MEASURES_MAX;
    return (struct topic_measures){first, first + told, behind - first - told};
}

/* Metrics of the model, among those of all; a replacement that was not measured shows none. */
static void add_evaluations(const struct weir_rows *rows, const char *model, json_t *row)
{
    json_t *array = json_array();
    const struct topic_measures measures = orchestrator_topic_measures_of(rows, model, 0);
    for (size_t i = measures.first; i < measures.end; i++) {
        json_t *value = weir_rows_is_null(rows, i, "value")
                            ? json_string("undefined")
                            : json_real(weir_rows_f64(rows, i, "value"));
        json_array_append_new(
            array, JSON_FIELDS(JSON_TEXT("name", weir_rows_text(rows, i, "name")),
                               JSON_TIME("from", weir_rows_i64(rows, i, "from_time")),
                               JSON_TIME("to", weir_rows_i64(rows, i, "to_time")),
                               JSON_TEXT("metric", weir_rows_text(rows, i, "metric")),
                               JSON_NEW("value", value),
                               JSON_NUMBER("samples", weir_rows_i64(rows, i, "samples"))));
    }
    json_object_set_new(row, "evaluations", array);
    if (measures.left_out > 0)
        json_object_set_new(row, "evaluations_left_out",
                            json_integer((json_int_t)measures.left_out));
}

static void add_row(const struct weir_rows *rows, size_t i, const struct weir_rows *measures,
                    json_t *report)
{
    bool stored = !weir_rows_is_null(rows, i, "model");
    json_t *row = JSON_FIELDS(JSON_NUMBER("trigger", weir_rows_i64(rows, i, "number")),
                              JSON_TEXT("state", weir_rows_text(rows, i, "state")),
                              JSON_TEXT("reason", weir_rows_text(rows, i, "reason")),
                              JSON_NUMBER("samples_new", weir_rows_i64(rows, i, "samples_new")),
                              JSON_TIME("until", weir_rows_i64(rows, i, "until_time")),
                              JSON_NUMBER("selected", weir_rows_i64(rows, i, "samples")),
                              JSON_TEXT("skipped", weir_rows_text(rows, i, "skipped")),
                              JSON_TEXT("digest", weir_rows_text(rows, i, "set_digest")));
    if (!weir_rows_is_null(rows, i, "decision")) {
        json_object_set_new(row, "decision",
                            orchestrator_topic_decision(weir_rows_text(rows, i, "decision")));
    }
    json_object_set_new(row, "costs", json_object());
    json_object_set_new(row, "timeline", orchestrator_pipeline_timeline_json(rows, i, 0));
    add_training(row, rows, i);
    json_array_append_new(report, row);
    if (!stored)
        return;
    const char *model = weir_rows_text(rows, i, "model");
    json_object_set_new(row, "model", json_string(model));
    json_object_set_new(row, "parent",
                        weir_rows_is_null(rows, i, "parent")
                            ? json_null()
                            : json_string(weir_rows_text(rows, i, "parent")));
    json_object_set_new(row, "cost", orchestrator_json_of(weir_rows_text(rows, i, "cost")));
    add_evaluations(measures, model, row);
    if (json_array_size(json_object_get(row, "evaluations")) > 0 ||
        weir_rows_is_null(rows, i, "original"))
        return;
    const char *original = weir_rows_text(rows, i, "original");
    json_object_set_new(row, "evaluations_of", json_string(original));
    add_evaluations(measures, original, row);
}

static enum weir_status find_page(const struct topic_call *call, int64_t pipeline,
                                  struct page *page, struct weir_error *err)
{
    WEIR_AUTO(weir_rows) rows = NULL;
    int64_t before = orchestrator_topic_number(call, "before", TRIGGERS_MAX);
    int64_t newest = orchestrator_topic_number(call, "newest", TRIGGERS_MAX);
    if (newest < 0 || newest > TRIGGERS_MAX)
        newest = TRIGGERS_MAX;
    enum weir_status status =
        DB_RUN(call->context->db, Q_report_page, &rows, err, DB_I64(pipeline), DB_I64(before),
               DB_I64(newest), DB_I64(PAGE_TRIGGERS), DB_I64(PAGE_MEASURES));
    if (status == WEIR_OK && !weir_rows_is_null(rows, 0, "last"))
        *page = (struct page){
            .first = weir_rows_i64(rows, 0, "first"),
            .last = weir_rows_i64(rows, 0, "last"),
            .has_older = weir_rows_bool(rows, 0, "has_older"),
        };
    return status;
}

static enum weir_status add_rows(struct topics *topics, int64_t pipeline, const struct page *page,
                                 json_t *report, struct weir_error *err)
{
    WEIR_AUTO(weir_rows) rows = NULL;
    WEIR_AUTO(weir_rows) measures = NULL;
    enum weir_status status = DB_RUN(topics->context->db, Q_report, &rows, err, DB_I64(pipeline),
                                     DB_I64(page->first), DB_I64(page->last));
    if (status == WEIR_OK)
        status = DB_RUN(topics->context->db, Q_evaluation_of_triggers, &measures, err,
                        DB_I64(pipeline), DB_I64(page->first), DB_I64(page->last));
    for (size_t i = 0; status == WEIR_OK && i < weir_rows_count(rows); i++)
        add_row(rows, i, measures, report);
    return status;
}

/* Cost of each trigger, by the mode of its runs. */
static enum weir_status add_costs(struct topics *topics, int64_t pipeline, const struct page *page,
                                  json_t *report, struct weir_error *err)
{
    WEIR_AUTO(weir_rows) rows = NULL;
    enum weir_status status = DB_RUN(topics->context->db, Q_run_cost_by_mode, &rows, err,
                                     DB_I64(pipeline), DB_I64(page->first), DB_I64(page->last));
    size_t at = 0; /* both ascend */
    for (size_t i = 0; status == WEIR_OK && i < weir_rows_count(rows); i++) {
        const struct orchestrator_cost cost = orchestrator_run_cost(rows, i);
        WEIR_AUTO_BUF text = {0};
        json_t *row;
        while ((row = json_array_get(report, at)) != NULL &&
               json_integer_value(json_object_get(row, "trigger")) <
                   weir_rows_i64(rows, i, "trigger"))
            at++;
        if (json_integer_value(json_object_get(row, "trigger")) !=
            weir_rows_i64(rows, i, "trigger"))
            continue; /* its trigger is gone */
        orchestrator_cost_json(&topics->context->prices, &cost, &text);
        json_object_set_new(json_object_get(row, "costs"), weir_rows_text(rows, i, "mode"),
                            orchestrator_json_of(weir_buf_text(&text)));
    }
    return status;
}

/* Evaluations and intervals on which nothing was measured. */
static enum weir_status add_unmeasured(struct topics *topics, const struct pipeline *pipeline,
                                       json_t *answer, struct weir_error *err)
{
    int64_t id = orchestrator_pipeline_id(pipeline), count = 0;
    json_t *names = NULL, *intervals = NULL;
    enum weir_status status = orchestrator_unmeasured_names(
        topics->context, id, orchestrator_pipeline_config(pipeline), &names, err);
    if (status == WEIR_OK)
        status = orchestrator_unmeasured_intervals(topics->context, id, &intervals, &count, err);
    json_object_set_new(answer, "unmeasured", names);
    json_object_set_new(answer, "empty_intervals", intervals);
    json_object_set_new(answer, "empty_intervals_in_all", json_integer(count));
    return status;
}

/* The file that the pipeline has now, in short. */
static json_t *config_json(const struct orchestrator_config *config)
{
    static const char *const SECTIONS[] = {"trigger", "selection", "training"};
    json_t *facts = json_object(), *datasets = json_array();
    for (size_t i = 0; i < config->dataset_count; i++)
        json_array_append_new(datasets, json_string(config->datasets[i]));
    json_object_set_new(facts, "datasets", datasets);
    for (size_t i = 0; i < WEIR_COUNT(SECTIONS); i++) {
        WEIR_AUTO_BUF fact = {0};
        orchestrator_config_put_fact(config, SECTIONS[i], &fact);
        json_object_set_new(facts, SECTIONS[i], json_string(weir_buf_text(&fact)));
    }
    return facts;
}

void orchestrator_topic_report(struct topic_call *call)
{
    struct topics *topics = call->all;
    struct weir_error err;
    const struct pipeline *pipeline = orchestrator_topic_pipeline(call);
    if (pipeline == NULL)
        return;
    int64_t id = orchestrator_pipeline_id(pipeline);
    struct page page = {.first = 1};
    json_t *report = json_array();
    enum weir_status status = find_page(call, id, &page, &err);
    if (status == WEIR_OK)
        status = add_rows(topics, id, &page, report, &err);
    if (status == WEIR_OK)
        status = add_costs(topics, id, &page, report, &err);
    json_t *checks = json_array();
    if (status == WEIR_OK)
        status = orchestrator_topic_add_checks(topics, id, CHECKS_SHOWN, checks, &err);
    if (status != WEIR_OK) {
        json_decref(report);
        json_decref(checks);
        orchestrator_topic_refuse(call, &err);
        return;
    }
    const struct orchestrator_config *config = orchestrator_pipeline_config(pipeline);
    WEIR_AUTO_FREE char *machine = weir_host_text();
    json_t *answer = JSON_FIELDS(
        JSON_TEXT("pipeline", config->name),
        JSON_TEXT("state", orchestrator_pipeline_state_name(orchestrator_pipeline_state(pipeline))),
        JSON_NEW("triggers", report), JSON_NEW("checks", checks),
        JSON_NEW("config", config_json(config)), JSON_TEXT("machine", machine));
    if (page.has_older)
        json_object_set_new(answer, "before", json_integer(page.first));
    if (add_unmeasured(topics, pipeline, answer, &err) == WEIR_OK) {
        orchestrator_topic_answer_naming_classes(call, config->datasets[0], answer);
        return;
    }
    json_decref(answer);
    orchestrator_topic_refuse(call, &err);
}
