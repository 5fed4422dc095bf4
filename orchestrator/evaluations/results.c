/* Metrics of an evaluation run, committed with their events. */
#include "orchestrator/evaluations/results.h"

#include "core/base/memory.h"
#include "core/wire/outputs.h"
#include "orchestrator/events.h"
#include "orchestrator/metrics/metric.h"

#include <inttypes.h>
#include <stdlib.h>

struct measured {
    const struct evaluation_result *result;
    const struct orchestrator_evaluation *evaluation;
    size_t samples;
    struct {
        bool defined;
        double value;
    } metrics[ORCHESTRATOR_METRICS_MAX];
};

static enum weir_status measure(const struct evaluation_result *result, struct measured *measured,
                                struct weir_error *err)
{
    WEIR_AUTO_FREE char *path =
        weir_format("%s/%s", result->run->directory, result->run->outputs_file);
    struct weir_outputs outputs = {0};
    enum weir_status status = weir_outputs_open(path, &outputs, err);
    if (status != WEIR_OK)
        return weir_error_wrap(err, status, "evaluation of %s", result->task->model);
    const struct metric_input input = {.values = outputs.values,
                                       .labels = outputs.labels,
                                       .count = outputs.count,
                                       .width = outputs.width};
    measured->samples = outputs.count;
    for (size_t i = 0; i < measured->evaluation->metric_count; i++) {
        measured->metrics[i].defined = orchestrator_metric_find(measured->evaluation->metrics[i])
                                           ->measure(&input, &measured->metrics[i].value);
    }
    weir_outputs_close(&outputs);
    return WEIR_OK;
}

static json_t *event_of(const struct measured *measured, size_t index)
{
    const struct evaluation_task *task = measured->result->task;
    const struct orchestrator_config *config =
        orchestrator_pipeline_config(measured->result->pipeline);
    json_t *value = measured->metrics[index].defined ? json_real(measured->metrics[index].value)
                                                     : json_string("undefined");
    return json_pack(
        "{ss,ss,ss,ss,s{so,so},ss,so,sI}", "pipeline", config->name, "model", task->model, "name",
        measured->evaluation->name, "dataset", config->datasets[0], "interval", "from",
        orchestrator_json_time(task->from_time), "to", orchestrator_json_time(task->to_time),
        "metric", measured->evaluation->metrics[index], "value", value, "samples",
        (json_int_t)measured->samples);
}

static enum weir_status keep_one(struct orchestrator *orch, const struct measured *measured,
                                 size_t index, struct weir_error *err)
{
    const struct evaluation_task *task = measured->result->task;
    const char *metric = measured->evaluation->metrics[index];
    int64_t pipeline = orchestrator_pipeline_id(measured->result->pipeline);
    enum weir_status status =
        DB_RUN(orch->db, Q_evaluation_add, NULL, err, DB_I64(pipeline), DB_TEXT(task->model),
               DB_TEXT(measured->evaluation->name), DB_I64(task->from_time), DB_I64(task->to_time),
               DB_TEXT(metric),
               measured->metrics[index].defined ? DB_F64(measured->metrics[index].value) : DB_NULL,
               DB_I64(measured->samples), DB_TEXT(measured->result->run->set_digest));
    if (status != WEIR_OK)
        return status;
    WEIR_AUTO_FREE char *key =
        weir_format("evaluation/%s/%s/%" PRId64 "/%s", measured->evaluation->name, task->model,
                    task->from_time, metric);
    return orchestrator_event_put(orch, &(struct event_about){pipeline, 0, key, "evaluation"},
                                  event_of(measured, index), err);
}

static enum weir_status keep(void *subject, const void *what, struct weir_error *err)
{
    struct orchestrator *orch = subject;
    const struct measured *measured = what;
    enum weir_status status = WEIR_OK;
    for (size_t i = 0; i < measured->evaluation->metric_count && status == WEIR_OK; i++)
        status = keep_one(orch, measured, i, err);
    return status;
}

enum weir_status orchestrator_evaluation_keep(struct orchestrator *orch,
                                              const struct evaluation_result *result,
                                              struct weir_error *err)
{
    const struct orchestrator_config *config = orchestrator_pipeline_config(result->pipeline);
    struct measured measured = {.result = result,
                                .evaluation = &config->evaluations[result->task->evaluation]};
    enum weir_status status = measure(result, &measured, err);
    return status == WEIR_OK ? orchestrator_commit(orch, keep, orch, &measured, err) : status;
}
