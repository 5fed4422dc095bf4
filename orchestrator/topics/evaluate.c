/* evaluate: what the evaluations of a pipeline's file plan, or its metrics on an interval that is asked for, measured
 * now. What is measured already is only read. */
#include "core/base/memory.h"
#include "orchestrator/context/events.h"
#include "orchestrator/judging/evaluator.h"
#include "orchestrator/pipeline/pipeline.h"
#include "orchestrator/topics/classes.h"

#include <stdlib.h>
#include <string.h>

static void forget(struct topic_call *call)
{
    orchestrator_evaluator_forget(call->all->evaluators, call);
}

static json_t *row_json(const struct weir_rows *rows, size_t row, const json_t *task)
{
    bool defined = !weir_rows_is_null(rows, row, "value");
    json_t *one = JSON_FIELDS(
        JSON_TEXT("model", json_string_value(json_array_get(task, 0))),
        JSON_TEXT("name", json_string_value(json_array_get(task, 1))),
        JSON_NEW("interval",
                 JSON_FIELDS(JSON_TIME("from", json_integer_value(json_array_get(task, 2))),
                             JSON_TIME("to", json_integer_value(json_array_get(task, 3))))),
        JSON_TEXT("metric", weir_rows_text(rows, row, "metric")),
        JSON_NEW("value",
                 defined ? json_real(weir_rows_f64(rows, row, "value")) : json_string("undefined")),
        JSON_NUMBER("samples", weir_rows_i64(rows, row, "samples")));
    if (!weir_rows_is_null(rows, row, "low"))
        json_object_set_new(
            one, "bootstrap",
            json_pack("[ff]", weir_rows_f64(rows, row, "low"), weir_rows_f64(rows, row, "high")));
    return one;
}

/* An interval without samples has no rows. */
static enum weir_status add_rows(const struct topic_call *call, const json_t *task, json_t *list,
                                 struct weir_error *err)
{
    WEIR_AUTO(weir_rows) rows = NULL;
    enum weir_status status = DB_RUN(call->context->db, Q_evaluation_at, &rows, err,
                                     DB_I64(orchestrator_pipeline_id(call->pipeline)),
                                     DB_TEXT(json_string_value(json_array_get(task, 0))),
                                     DB_TEXT(json_string_value(json_array_get(task, 1))),
                                     DB_I64(json_integer_value(json_array_get(task, 2))),
                                     DB_I64(json_integer_value(json_array_get(task, 3))));
    for (size_t i = 0; status == WEIR_OK && i < weir_rows_count(rows); i++)
        json_array_append_new(list, row_json(rows, i, task));
    return status;
}

static void on_done(void *owner, const struct weir_error *err)
{
    struct topic_call *call = owner;
    struct weir_error problem;
    call->forget = NULL;
    if (err != NULL) {
        orchestrator_topic_refuse(call, err);
        return;
    }
    json_t *list = json_array();
    enum weir_status status = WEIR_OK;
    for (size_t i = 0; i < json_array_size(call->collected) && status == WEIR_OK; i++)
        status = add_rows(call, json_array_get(call->collected, i), list, &problem);
    if (status != WEIR_OK) {
        json_decref(list);
        orchestrator_topic_refuse(call, &problem);
        return;
    }
    orchestrator_topic_answer_naming_classes(
        call, orchestrator_pipeline_config(call->pipeline)->datasets[0],
        JSON_FIELDS(JSON_TEXT("pipeline", orchestrator_pipeline_config(call->pipeline)->name),
                    JSON_NUMBER("tasks", json_array_size(call->collected)),
                    JSON_NEW("evaluations", list)));
}

static enum weir_status check_names(const struct topic_call *call, struct weir_error *err)
{
    const struct orchestrator_config *config = orchestrator_pipeline_config(call->pipeline);
    const char *wanted = orchestrator_topic_text(call, "evaluation", NULL);
    if (config->evaluation_count == 0)
        return weir_fail(err, WEIR_NOT_FOUND, "pipeline %s: its file has no evaluation",
                         config->name);
    for (size_t i = 0; i < config->evaluation_count; i++)
        if (wanted == NULL || strcmp(config->evaluations[i].name, wanted) == 0)
            return WEIR_OK;
    return weir_fail(err, WEIR_NOT_FOUND, "pipeline %s: its file has no evaluation '%.80s'",
                     config->name, wanted);
}

/* The metrics of the evaluations on the interval that is asked for. */
static enum weir_status plan_interval(const struct topic_call *call, struct evaluation_tasks *tasks,
                                      struct weir_error *err)
{
    const struct orchestrator_config *config = orchestrator_pipeline_config(call->pipeline);
    const char *wanted = orchestrator_topic_text(call, "evaluation", NULL);
    struct evaluation_interval interval = {0};
    WEIR_AUTO_FREE char *model = NULL;
    enum weir_status status = orchestrator_topic_interval(call, &interval.from, &interval.to, err);
    if (status == WEIR_OK)
        status = orchestrator_topic_choose_model(call, call->pipeline, &model, err);
    for (size_t i = 0; i < config->evaluation_count && status == WEIR_OK; i++)
        if (wanted == NULL || strcmp(config->evaluations[i].name, wanted) == 0)
            orchestrator_evaluation_tasks_add(tasks, model, i, interval.from, interval.to);
    return status;
}

static enum weir_status plan(const struct topic_call *call, struct evaluation_tasks *tasks,
                             struct weir_error *err)
{
    const struct evaluation_wanted wanted = {
        .when = EVALUATE_ALWAYS,
        .ended = orchestrator_pipeline_state(call->pipeline) == PIPELINE_FINISHED,
        .model = orchestrator_topic_text(call, "model", NULL),
        .evaluation = orchestrator_topic_text(call, "evaluation", NULL),
    };
    enum weir_status status = check_names(call, err);
    if (status != WEIR_OK)
        return status;
    if (orchestrator_topic_text(call, "from", NULL) != NULL ||
        orchestrator_topic_text(call, "to", NULL) != NULL)
        return plan_interval(call, tasks, err);
    if (wanted.model != NULL) { /* a word for one that is not there */
        WEIR_AUTO_FREE char *model = NULL;
        status = orchestrator_topic_choose_model(call, call->pipeline, &model, err);
    }
    return status == WEIR_OK ? orchestrator_pipeline_plan(call->pipeline, &wanted, tasks, err)
                             : status;
}

static json_t *tasks_json(const struct orchestrator_config *config,
                          const struct evaluation_tasks *tasks)
{
    json_t *list = json_array();
    for (size_t i = 0; i < tasks->count; i++) {
        const struct evaluation_task *task = &tasks->at[i];
        json_array_append_new(
            list, json_pack("[ssII]", task->model, config->evaluations[task->evaluation].name,
                            (json_int_t)task->from_time, (json_int_t)task->to_time));
    }
    return list;
}

void orchestrator_topic_evaluate(struct topic_call *call)
{
    struct weir_error err;
    struct evaluation_tasks tasks = {0};
    call->pipeline = orchestrator_topic_models_of(call);
    if (call->pipeline == NULL)
        return;
    if (plan(call, &tasks, &err) != WEIR_OK) {
        orchestrator_evaluation_tasks_fini(&tasks);
        orchestrator_topic_refuse(call, &err);
        return;
    }
    call->collected = tasks_json(orchestrator_pipeline_config(call->pipeline), &tasks);
    call->forget = forget;
    orchestrator_evaluator_start(call->all->evaluators,
                                 orchestrator_pipeline_outline(call->pipeline), &tasks, on_done,
                                 call);
}
