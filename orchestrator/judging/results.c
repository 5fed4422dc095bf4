/* Metrics of an evaluation run: computed on a thread, committed with their events in the loop. */
#include "orchestrator/judging/results.h"

#include "core/base/clock.h"
#include "core/base/memory.h"
#include "core/loop/work.h"
#include "core/wire/outputs.h"
#include "orchestrator/config/classes.h"
#include "orchestrator/context/events.h"
#include "orchestrator/metrics/given.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

struct measuring {
    struct context *context;
    int64_t pipeline;
    const struct orchestrator_config *config;
    const struct orchestrator_evaluation *evaluation;
    struct evaluation_task task; /* a copy: the evaluator's list may grow */
    char *set_digest, *outputs_path;
    json_t *audit; /* of the run; owned */
    measuring_done_fn *done;
    void *owner;
    struct weir_work *work;
    /* Of the thread, until it is done: */
    struct {
        struct metric_result *results; /* owned */
        size_t count;
    } metrics[ORCHESTRATOR_METRICS_MAX];
    enum weir_status status;
    struct weir_error err;
};

/* One value of it. */
struct one_result {
    const struct measuring *measuring;
    const struct metric_result *found;
    const char *metric; /* with its slice: "accuracy[label=cat]" */
};

static void free_measuring(struct measuring *measuring)
{
    for (size_t i = 0; i < ORCHESTRATOR_METRICS_MAX; i++)
        free(measuring->metrics[i].results);
    json_decref(measuring->audit);
    free(measuring->set_digest);
    free(measuring->outputs_path);
    free(measuring);
}

/* ---- on the thread ---- */

/* A file that a pipeline had before stays in memory, so the settings outlive the thread. */
static enum weir_status measure(struct measuring *measuring, struct weir_work *work,
                                struct weir_error *err)
{
    struct weir_outputs outputs = {0};
    enum weir_status status = weir_outputs_open(measuring->outputs_path, &outputs, err);
    if (status != WEIR_OK)
        return weir_error_wrap(err, status, "evaluation of %s", measuring->task.model);
    struct metric_given given;
    const struct cfg_texts *slices = &measuring->config->slices;
    orchestrator_metric_given_open(&outputs, &given);
    given.input.work = work;
    if (slices->count == outputs.slice_columns) {
        given.input.slices = outputs.slices;
        given.input.slice_names = slices;
    }
    for (size_t i = 0; i < measuring->evaluation->metric_count; i++) {
        measuring->metrics[i].count = orchestrator_metric_measure(
            measuring->evaluation->metrics[i], &given.input, &measuring->metrics[i].results);
    }
    orchestrator_metric_given_close(&given);
    weir_outputs_close(&outputs);
    return WEIR_OK;
}

static void run(struct weir_work *work, void *owner)
{
    struct measuring *measuring = owner;
    measuring->status = measure(measuring, work, &measuring->err);
}

/* ---- in the loop ---- */

/* Samples of the interval that were not measured. */
static void add_unread(json_t *event, json_t *audit)
{
    json_object_set(event, "failed", json_object_get(audit, "failed"));
    json_object_set(event, "filtered", json_object_get(audit, "filtered"));
    (void)json_object_set(event, "digests", json_object_get(audit, "digests")); /* where kept */
    (void)json_object_set(event, "digest", json_object_get(audit, "digest"));
}

const char *orchestrator_evaluation_dataset(const struct orchestrator_config *config, size_t index)
{
    size_t first = 0;
    if (config->evaluations[index].dataset != NULL)
        return config->evaluations[index].dataset;
    while (first + 1 < config->dataset_count && !orchestrator_config_measures(config, first, NULL))
        first++;
    return config->datasets[first];
}

static json_t *event_of(const struct one_result *one)
{
    const struct evaluation_task *task = &one->measuring->task;
    const struct metric_result *found = one->found;
    const struct orchestrator_config *config = one->measuring->config;
    json_t *event = JSON_FIELDS(
        JSON_TEXT("pipeline", config->name), JSON_TEXT("model", task->model),
        JSON_TEXT("name", one->measuring->evaluation->name),
        JSON_TEXT("dataset", orchestrator_evaluation_dataset(config, task->evaluation)),
        JSON_NEW("interval",
                 JSON_FIELDS(JSON_TIME("from", task->from_time), JSON_TIME("to", task->to_time))),
        JSON_TEXT("metric", one->metric),
        JSON_NEW("value", found->defined ? json_real(found->value) : json_string("undefined")),
        JSON_NUMBER("samples", found->samples));
    add_unread(event, one->measuring->audit);
    if (found->has_interval)
        json_object_set_new(event, "bootstrap", json_pack("[ff]", found->low, found->high));
    return event;
}

static enum weir_status keep_one(struct context *context, const struct one_result *one,
                                 struct weir_error *err)
{
    const struct evaluation_task *task = &one->measuring->task;
    const struct metric_result *found = one->found;
    int64_t pipeline = one->measuring->pipeline;
    enum weir_status status = DB_RUN(
        context->db, Q_evaluation_add, NULL, err, DB_I64(pipeline), DB_TEXT(task->model),
        DB_TEXT(one->measuring->evaluation->name), DB_I64(task->from_time), DB_I64(task->to_time),
        DB_TEXT(one->metric), found->defined ? DB_F64(found->value) : DB_NULL,
        DB_I64(found->samples), DB_TEXT(one->measuring->set_digest),
        found->has_interval ? DB_F64(found->low) : DB_NULL,
        found->has_interval ? DB_F64(found->high) : DB_NULL);
    if (status != WEIR_OK)
        return status;
    WEIR_AUTO_FREE char *key =
        weir_format("evaluation/%s/%s/%" PRId64 "/%" PRId64 "/%s", one->measuring->evaluation->name,
                    task->model, task->from_time, task->to_time, one->metric);
    return orchestrator_event_put(context, &(struct event_about){pipeline, 0, key, "evaluation"},
                                  event_of(one), err);
}

/* "accuracy(by=label)[label=cat]", or with the number of the class where the file does not name it. */
static char *name_of(const struct measuring *measuring, const char *label,
                     const struct metric_result *found)
{
    if (found->slice_of == NULL)
        return weir_strdup(label);
    const char *name = strcmp(found->slice_of, "label") == 0
                           ? orchestrator_config_class_name(measuring->config, found->slice)
                           : NULL;
    return name != NULL ? weir_format("%s[label=%s]", label, name)
                        : weir_format("%s[%s=%" PRId64 "]", label, found->slice_of, found->slice);
}

static enum weir_status keep_metric(struct context *context, const struct measuring *measuring,
                                    size_t index, struct weir_error *err)
{
    const char *label = orchestrator_metric_label(measuring->evaluation->metrics[index]);
    enum weir_status status = WEIR_OK;
    for (size_t i = 0; i < measuring->metrics[index].count && status == WEIR_OK; i++) {
        const struct metric_result *found = &measuring->metrics[index].results[i];
        WEIR_AUTO_FREE char *name = name_of(measuring, label, found);
        status = keep_one(context, &(struct one_result){measuring, found, name}, err);
    }
    return status;
}

static enum weir_status keep(void *subject, const void *what, struct weir_error *err)
{
    struct context *context = subject;
    const struct measuring *measuring = what;
    enum weir_status status = WEIR_OK;
    for (size_t i = 0; i < measuring->evaluation->metric_count && status == WEIR_OK; i++)
        status = keep_metric(context, measuring, i, err);
    return status == WEIR_OK ? DB_RUN(context->db, Q_trigger_evaluated, NULL, err,
                                      DB_TEXT(measuring->task.model), DB_I64(weir_now_wall_us()))
                             : status;
}

static void on_measured(void *owner)
{
    struct measuring *measuring = owner;
    measuring_done_fn *done = measuring->done;
    void *waiting = measuring->owner;
    struct context *context = measuring->context;
    struct weir_error err = measuring->err;
    enum weir_status status = measuring->status;
    if (status == WEIR_OK)
        status = orchestrator_commit(context, keep, context, measuring, &err);
    free_measuring(measuring);
    done(waiting, status == WEIR_OK ? NULL : &err);
}

struct measuring *orchestrator_measuring_start(struct context *context,
                                               const struct evaluation_result *result,
                                               measuring_done_fn *done, void *owner)
{
    const struct run_result *over = result->run;
    const struct orchestrator_config *config = result->pipeline->config;
    struct measuring *measuring = weir_calloc(1, sizeof(*measuring));
    *measuring = (struct measuring){
        .context = context,
        .pipeline = result->pipeline->id,
        .config = config,
        .evaluation = &config->evaluations[result->task->evaluation],
        .task = *result->task,
        .set_digest = weir_strdup(over->set_digest),
        .outputs_path = weir_format("%s/%s", over->directory, over->outputs_file),
        .audit = orchestrator_json_of(over->audit),
        .done = done,
        .owner = owner,
    };
    measuring->work = weir_work_enqueue(context->measurings, run, on_measured, measuring);
    return measuring;
}

static void on_gone(void *owner)
{
    free_measuring(owner);
}

void orchestrator_measuring_abandon(struct measuring *measuring)
{
    if (measuring != NULL)
        weir_work_abandon(measuring->work, on_gone);
}
