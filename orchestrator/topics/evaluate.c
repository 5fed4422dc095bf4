/* evaluate: what the evaluations of a pipeline's file plan, or its metrics on an interval that is asked for, measured
 * now. What is measured already is only read. */
#include "core/base/clock.h"
#include "core/base/memory.h"
#include "orchestrator/context/events.h"
#include "orchestrator/judging/evaluator.h"
#include "orchestrator/pipeline/pipeline.h"
#include "orchestrator/topics/classes.h"

#include <stdlib.h>
#include <string.h>

enum { ROWS_SHOWN_MAX = 30000, STEP_MS = 10 };

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

/* An interval without samples has no rows. Of more than a message holds only the number is told: all are kept. */
static enum weir_status add_rows(const struct topic_call *call, const json_t *task,
                                 struct weir_error *err)
{
    WEIR_AUTO(weir_rows) rows = NULL;
    json_t *list = json_object_get(call->collected, "evaluations");
    json_int_t left_out = json_integer_value(json_object_get(call->collected, "left_out"));
    enum weir_status status = DB_RUN(call->context->db, Q_evaluation_at, &rows, err,
                                     DB_I64(orchestrator_pipeline_id(call->pipeline)),
                                     DB_TEXT(json_string_value(json_array_get(task, 0))),
                                     DB_TEXT(json_string_value(json_array_get(task, 1))),
                                     DB_I64(json_integer_value(json_array_get(task, 2))),
                                     DB_I64(json_integer_value(json_array_get(task, 3))));
    for (size_t i = 0; status == WEIR_OK && i < weir_rows_count(rows); i++) {
        if (json_array_size(list) < ROWS_SHOWN_MAX)
            json_array_append_new(list, row_json(rows, i, task));
        else
            left_out++;
    }
    if (left_out > 0)
        json_object_set_new(call->collected, "left_out", json_integer(left_out));
    return status;
}

/* A few tasks at a time: each takes a statement, and meanwhile nobody else is heard. */
static void gather(void *owner)
{
    struct topic_call *call = owner;
    struct weir_error err;
    const json_t *tasks = json_object_get(call->collected, "planned");
    const size_t count = json_array_size(tasks);
    int64_t until_ms = weir_now_ms() + STEP_MS;
    call->timer = 0;
    for (; (size_t)call->number < count && weir_now_ms() < until_ms; call->number++) {
        if (add_rows(call, json_array_get(tasks, (size_t)call->number), &err) != WEIR_OK) {
            orchestrator_topic_refuse(call, &err);
            return;
        }
    }
    if ((size_t)call->number < count) {
        call->timer = weir_loop_timer(call->context->loop, 0, 0, gather, call);
        return;
    }
    json_t *answer = json_incref(call->collected);
    json_object_del(answer, "planned");
    orchestrator_topic_answer_naming_classes(
        call, orchestrator_pipeline_config(call->pipeline)->datasets[0], answer);
}

static void on_done(void *owner, const struct weir_error *err)
{
    struct topic_call *call = owner;
    call->forget = NULL;
    if (err != NULL)
        orchestrator_topic_refuse(call, err);
    else
        gather(call);
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
    const struct orchestrator_config *config = orchestrator_pipeline_config(call->pipeline);
    call->collected = JSON_FIELDS(
        JSON_TEXT("pipeline", config->name), JSON_NUMBER("tasks", tasks.count),
        JSON_NEW("evaluations", json_array()), JSON_NEW("planned", tasks_json(config, &tasks)));
    call->forget = forget;
    orchestrator_evaluator_start(call->all->evaluators,
                                 orchestrator_pipeline_outline(call->pipeline), &tasks, on_done,
                                 call);
}
