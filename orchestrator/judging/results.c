/* Metrics of an evaluation run, committed with their events. */
#include "orchestrator/judging/results.h"

#include "core/base/clock.h"
#include "core/base/memory.h"
#include "core/wire/outputs.h"
#include "orchestrator/config/classes.h"
#include "orchestrator/context/events.h"
#include "orchestrator/metrics/given.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

struct measured {
    const struct evaluation_result *result;
    const struct orchestrator_evaluation *evaluation;
    json_t *audit; /* of the run; owned */
    struct {
        struct metric_result *results; /* owned */
        size_t count;
    } metrics[ORCHESTRATOR_METRICS_MAX];
};

/* One value of it. */
struct one_result {
    const struct measured *measured;
    const struct metric_result *found;
    const char *metric; /* with its slice: "accuracy[label=cat]" */
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
    struct metric_given given;
    const struct cfg_texts *slices = &result->pipeline->config->slices;
    orchestrator_metric_given_open(&outputs, &given);
    if (slices->count == outputs.slice_columns) {
        given.input.slices = outputs.slices;
        given.input.slice_names = slices;
    }
    for (size_t i = 0; i < measured->evaluation->metric_count; i++) {
        measured->metrics[i].count = orchestrator_metric_measure(
            measured->evaluation->metrics[i], &given.input, &measured->metrics[i].results);
    }
    orchestrator_metric_given_close(&given);
    weir_outputs_close(&outputs);
    return WEIR_OK;
}

static void measured_fini(struct measured *measured)
{
    json_decref(measured->audit);
    for (size_t i = 0; i < ORCHESTRATOR_METRICS_MAX; i++)
        free(measured->metrics[i].results);
}

/* Samples of the interval that were not measured. */
static void add_unread(json_t *event, json_t *audit)
{
    json_object_set(event, "failed", json_object_get(audit, "failed"));
    json_object_set(event, "filtered", json_object_get(audit, "filtered"));
    (void)json_object_set(event, "digests", json_object_get(audit, "digests")); /* where kept */
    (void)json_object_set(event, "digest", json_object_get(audit, "digest"));
}

/* The first dataset of an evaluation that names none. */
static const char *first_measured(const struct orchestrator_config *config)
{
    size_t first = 0;
    while (first + 1 < config->dataset_count && !orchestrator_config_measures(config, first, NULL))
        first++;
    return config->datasets[first];
}

static json_t *event_of(const struct one_result *one)
{
    const struct evaluation_task *task = one->measured->result->task;
    const struct metric_result *found = one->found;
    const struct orchestrator_config *config = one->measured->result->pipeline->config;
    const char *dataset = one->measured->evaluation->dataset;
    json_t *event = JSON_FIELDS(
        JSON_TEXT("pipeline", config->name), JSON_TEXT("model", task->model),
        JSON_TEXT("name", one->measured->evaluation->name),
        JSON_TEXT("dataset", dataset == NULL ? first_measured(config) : dataset),
        JSON_NEW("interval",
                 JSON_FIELDS(JSON_TIME("from", task->from_time), JSON_TIME("to", task->to_time))),
        JSON_TEXT("metric", one->metric),
        JSON_NEW("value", found->defined ? json_real(found->value) : json_string("undefined")),
        JSON_NUMBER("samples", found->samples));
    add_unread(event, one->measured->audit);
    if (found->has_interval)
        json_object_set_new(event, "bootstrap", json_pack("[ff]", found->low, found->high));
    return event;
}

static enum weir_status keep_one(struct context *context, const struct one_result *one,
                                 struct weir_error *err)
{
    const struct evaluation_task *task = one->measured->result->task;
    const struct metric_result *found = one->found;
    int64_t pipeline = one->measured->result->pipeline->id;
    enum weir_status status = DB_RUN(
        context->db, Q_evaluation_add, NULL, err, DB_I64(pipeline), DB_TEXT(task->model),
        DB_TEXT(one->measured->evaluation->name), DB_I64(task->from_time), DB_I64(task->to_time),
        DB_TEXT(one->metric), found->defined ? DB_F64(found->value) : DB_NULL,
        DB_I64(found->samples), DB_TEXT(one->measured->result->run->set_digest),
        found->has_interval ? DB_F64(found->low) : DB_NULL,
        found->has_interval ? DB_F64(found->high) : DB_NULL);
    if (status != WEIR_OK)
        return status;
    WEIR_AUTO_FREE char *key =
        weir_format("evaluation/%s/%s/%" PRId64 "/%" PRId64 "/%s", one->measured->evaluation->name,
                    task->model, task->from_time, task->to_time, one->metric);
    return orchestrator_event_put(context, &(struct event_about){pipeline, 0, key, "evaluation"},
                                  event_of(one), err);
}

/* "accuracy(by=label)[label=cat]", or with the number of the class where the file does not name it. */
static char *name_of(const struct measured *measured, const char *label,
                     const struct metric_result *found)
{
    if (found->slice_of == NULL)
        return weir_strdup(label);
    const char *name =
        strcmp(found->slice_of, "label") == 0
            ? orchestrator_config_class_name(measured->result->pipeline->config, found->slice)
            : NULL;
    return name != NULL ? weir_format("%s[label=%s]", label, name)
                        : weir_format("%s[%s=%" PRId64 "]", label, found->slice_of, found->slice);
}

static enum weir_status keep_metric(struct context *context, const struct measured *measured,
                                    size_t index, struct weir_error *err)
{
    const char *label = orchestrator_metric_label(measured->evaluation->metrics[index]);
    enum weir_status status = WEIR_OK;
    for (size_t i = 0; i < measured->metrics[index].count && status == WEIR_OK; i++) {
        const struct metric_result *found = &measured->metrics[index].results[i];
        WEIR_AUTO_FREE char *name = name_of(measured, label, found);
        status = keep_one(context, &(struct one_result){measured, found, name}, err);
    }
    return status;
}

static enum weir_status keep(void *subject, const void *what, struct weir_error *err)
{
    struct context *context = subject;
    const struct measured *measured = what;
    enum weir_status status = WEIR_OK;
    for (size_t i = 0; i < measured->evaluation->metric_count && status == WEIR_OK; i++)
        status = keep_metric(context, measured, i, err);
    return status == WEIR_OK
               ? DB_RUN(context->db, Q_trigger_evaluated, NULL, err,
                        DB_TEXT(measured->result->task->model), DB_I64(weir_now_wall_us()))
               : status;
}

enum weir_status orchestrator_evaluation_keep(struct context *context,
                                              const struct evaluation_result *result,
                                              struct weir_error *err)
{
    const struct orchestrator_config *config = result->pipeline->config;
    struct measured measured = {.result = result,
                                .evaluation = &config->evaluations[result->task->evaluation],
                                .audit = orchestrator_json_of(result->run->audit)};
    enum weir_status status = measure(result, &measured, err);
    if (status == WEIR_OK)
        status = orchestrator_commit(context, keep, context, &measured, err);
    measured_fini(&measured);
    return status;
}
