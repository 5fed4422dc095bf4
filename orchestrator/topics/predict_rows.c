/* predict_open, predict_rows: what a model says about rows that are not stored. weir lends them to storage's memory
 * (storage/push/lent_rows.h), and nothing of them passes here; the run is like any other, and what it leaves in its
 * directory is removed whatever becomes of it. */
#include "core/base/log.h"
#include "core/base/memory.h"
#include "core/base/rng.h"
#include "core/wire/sample.h"
#include "orchestrator/context/events.h"
#include "orchestrator/pipeline/pipeline.h"
#include "orchestrator/runs/run.h"
#include "orchestrator/topics/run_outputs.h"
#include "orchestrator/topics/topic.h"
#include "orchestrator/values/json_number.h"
#include "orchestrator/values/json_object.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum {
    ROWS_MAX = 1 << 20,
    ANSWER_BYTES = 8 << 20, /* of predictions; the rest is asked for again */
    ROW_BYTES = 12,         /* of JSON: its number … */
    VALUE_BYTES = 24,       /* … and each value */
    SEAL_MS = 10000,
    CLAIM_MS = 10000,
};

/* ---- the answer ---- */

/* `answered`: rows from the first on that the answer covers; those without a prediction are not among `rows`. */
static json_t *answer_of(const struct topic_call *call, const struct weir_outputs *outputs)
{
    uint64_t first = (uint64_t)orchestrator_topic_number(call, "first", 0);
    int64_t answered = orchestrator_topic_number(call, "count", 0);
    size_t fit = ANSWER_BYTES / (ROW_BYTES + VALUE_BYTES * outputs->width);
    size_t count = outputs->count < fit ? outputs->count : fit + (fit == 0);
    json_t *rows = json_array(), *values = json_array();
    if (count < outputs->count)
        answered = (int64_t)(outputs->ids[count] - first);
    for (size_t i = 0; i < count; i++)
        json_array_append_new(rows, json_integer((json_int_t)(outputs->ids[i] - first)));
    for (size_t i = 0; i < count * outputs->width; i++)
        json_array_append_new(values, orchestrator_json_number((double)outputs->values[i]));
    return JSON_FIELDS(JSON_NUMBER("answered", answered), JSON_NUMBER("width", outputs->width),
                       JSON_NEW("rows", rows), JSON_NEW("values", values));
}

/* ---- the run ---- */

/* The set has ids that mean nothing afterwards: nobody seals it again. */
static void remove_files(const struct topic_call *call)
{
    struct weir_error err;
    (void)unlink(json_string_value(call->collected));
    if (orchestrator_run_remove_files(call->context, call->number, &err) != WEIR_OK)
        weir_log(WEIR_LOG_WARN, "files of a finished run stay", "%s", err.text);
}

static void forget(struct topic_call *call)
{
    orchestrator_run_forget(call->all->runs, call);
    remove_files(call);
}

/* Rows that were lost must not pass for rows that an operator left out. */
static enum weir_status check_audit(const struct run_result *run, struct weir_error *err)
{
    json_t *audit = orchestrator_json_of(run->audit);
    int64_t gone = json_integer_value(json_object_get(audit, "gone"));
    json_decref(audit);
    return gone == 0 ? WEIR_OK
                     : weir_fail(err, WEIR_NOT_FOUND,
                                 "%" PRId64 " rows are no longer lent: storage was restarted, or "
                                 "whoever lent them had no time to renew it; ask again",
                                 gone);
}

static void on_opened(struct topic_call *call, const struct weir_outputs *outputs,
                      const struct weir_error *err)
{
    remove_files(call);
    if (outputs != NULL)
        orchestrator_topic_answer(call, answer_of(call, outputs));
    else
        orchestrator_topic_refuse(call, err);
}

static void on_run(void *owner, const struct run_result *run, const struct weir_error *err)
{
    static const struct weir_outputs NONE = {.count =
                                                 0}; /* of a run whose rows were all left out */
    struct topic_call *call = owner;
    struct weir_error problem;
    if (run != NULL && check_audit(run, &problem) != WEIR_OK) {
        run = NULL;
        err = &problem;
    }
    if (run == NULL || run->outputs_file[0] == '\0') {
        on_opened(call, run == NULL ? NULL : &NONE, err);
        return;
    }
    WEIR_AUTO_FREE char *path = weir_format("%s/%s", run->directory, run->outputs_file);
    orchestrator_topic_open_outputs(call, path, on_opened);
}

static enum weir_status start_run(struct topic_call *call, const struct msg_selected *selected,
                                  struct weir_error *err)
{
    call->collected = json_string_nocheck(selected->path);
    WEIR_AUTO_FREE char *purpose =
        weir_format(ORCHESTRATOR_RUN_PREDICTS "%016" PRIx64, weir_random_u64());
    const struct run_wanted wanted = {
        .pipeline = orchestrator_pipeline_outline(call->pipeline),
        .purpose = purpose,
        .mode = "predict",
        .set_digest = selected->digest,
        .set_path = selected->path,
        .epochs = 1,
        .base_model = call->text,
    };
    enum weir_status status = orchestrator_run_start(call->all->runs, &wanted, on_run, call, err);
    if (status == WEIR_OK) {
        call->forget = forget;
        status = orchestrator_run_number(call->all->runs, &wanted, &call->number, err);
    }
    return status;
}

static void on_sealed(void *owner, const struct weir_reply *reply, const struct weir_error *err)
{
    struct topic_call *call = owner;
    struct weir_error problem;
    if (reply == NULL)
        orchestrator_topic_refuse(call, err);
    else if (start_run(call, reply->message, &problem) != WEIR_OK)
        orchestrator_topic_refuse(call, &problem);
}

static bool are_lent(int64_t first, int64_t count)
{
    return count > 0 && count <= ROWS_MAX &&
           weir_sample_dataset((uint64_t)first) == WEIR_DATASET_LENT &&
           weir_sample_dataset((uint64_t)first + (uint64_t)count - 1) == WEIR_DATASET_LENT;
}

static void seal(struct topic_call *call)
{
    uint64_t first = (uint64_t)orchestrator_topic_number(call, "first", 0);
    size_t count = (size_t)orchestrator_topic_number(call, "count", 0);
    WEIR_AUTO_FREE uint64_t *ids = weir_calloc(count, sizeof(*ids));
    for (size_t i = 0; i < count; i++)
        ids[i] = first + i;
    const struct msg_window_seal message = {
        .pipeline = orchestrator_pipeline_config(call->pipeline)->name, .ids = {ids, count}};
    weir_rpc_call(call->context->selector, MSG_window_seal, &message, SEAL_MS, on_sealed, call);
}

static void on_claimed(void *owner, const struct weir_reply *reply, const struct weir_error *err)
{
    if (reply == NULL)
        orchestrator_topic_refuse(owner, err);
    else
        seal(owner);
}

/* Ids of rows are easily guessed: those of others are refused. */
static void claim(struct topic_call *call)
{
    const struct topic_sender *sender = &call->sender;
    const struct msg_rows_claim message = {
        .key = sender->role == WEIR_ROLE_PLATFORM ? "" : sender->who,
        .first = (uint64_t)orchestrator_topic_number(call, "first", 0),
        .count = (uint64_t)orchestrator_topic_number(call, "count", 0)};
    weir_rpc_call(call->context->storage, MSG_rows_claim, &message, CLAIM_MS, on_claimed, call);
}

/* ---- the topics ---- */

void orchestrator_topic_predict_rows(struct topic_call *call)
{
    struct weir_error err;
    struct pipeline *pipeline = orchestrator_topic_models_of(call);
    if (pipeline == NULL)
        return;
    call->pipeline = pipeline;
    if (!are_lent(orchestrator_topic_number(call, "first", 0),
                  orchestrator_topic_number(call, "count", 0)))
        topic_fail(call, WEIR_INVALID, "predict_rows: expected the ids of 1 to %d lent rows",
                   ROWS_MAX);
    else if (orchestrator_topic_choose_model(call, pipeline, &call->text, &err) != WEIR_OK)
        orchestrator_topic_refuse(call, &err);
    else
        claim(call);
}

/* Returns the dataset that is asked for, or the first one; NULL: the pipeline has no such one. */
static const char *choose_dataset(const struct topic_call *call,
                                  const struct orchestrator_config *config)
{
    const char *wanted = orchestrator_topic_text(call, "dataset", config->datasets[0]);
    for (size_t i = 0; i < config->dataset_count; i++)
        if (strcmp(config->datasets[i], wanted) == 0)
            return config->datasets[i];
    return NULL;
}

/* Adds a name that an operator reads in records, once; columns of a table without names have numbers. */
static void add_read(json_t *reads, const struct weir_yaml_node *name)
{
    const char *text = weir_yaml_text(name);
    if (text == NULL || text[strspn(text, "0123456789")] == '\0')
        return;
    for (size_t i = 0; i < json_array_size(reads); i++)
        if (strcmp(json_string_value(json_array_get(reads, i)), text) == 0)
            return;
    json_array_append_new(reads, json_string(text));
}

/* A list, or a single one. */
static void add_all_read(json_t *reads, const struct weir_yaml_node *names)
{
    add_read(reads, names);
    for (size_t i = 0; i < weir_yaml_length(names); i++)
        add_read(reads, weir_yaml_at(names, i));
}

static json_t *reads_of(const struct orchestrator_config *config)
{
    json_t *reads = json_array();
    const struct weir_yaml_node *operators =
        weir_yaml_get(weir_yaml_get(weir_yaml_root(config->document), "preprocess"), "operators");
    for (size_t i = 0; i < weir_yaml_length(operators); i++) {
        const struct weir_yaml_node *one = weir_yaml_at(operators, i);
        const char *on = weir_yaml_text(weir_yaml_get(one, "on"));
        if (on != NULL && strcmp(on, "payload") != 0)
            continue; /* of JSON inside a column, for example */
        add_all_read(reads, weir_yaml_get(one, "fields"));
        add_all_read(reads, weir_yaml_get(one, "field"));
    }
    return reads;
}

static void on_dataset(void *owner, const struct weir_reply *reply, const struct weir_error *err)
{
    struct topic_call *call = owner;
    if (reply == NULL) {
        orchestrator_topic_refuse(call, err);
        return;
    }
    const struct msg_dataset_is *dataset = reply->message;
    json_object_set_new(call->collected, "classes", orchestrator_json_texts(dataset->classes));
    json_object_set_new(call->collected, "columns", orchestrator_json_lines(dataset->columns));
    orchestrator_topic_answer(call, json_incref(call->collected));
}

/* The answer says the columns of the dataset, and those that operators read, so that rows can be held against them. */
static void answer_open(struct topic_call *call, const struct orchestrator_config *config,
                        const char *dataset)
{
    const struct msg_dataset_request request = {.name = dataset};
    call->collected =
        JSON_FIELDS(JSON_TEXT("pipeline", config->name), JSON_TEXT("dataset", dataset),
                    JSON_TEXT("model", call->text), JSON_NEW("reads", reads_of(config)),
                    JSON_TEXT("endpoint", weir_rpc_peer_endpoint(call->context->storage)));
    weir_rpc_call(call->context->storage, MSG_dataset_request, &request, ORCHESTRATOR_REQUEST_MS,
                  on_dataset, call);
}

void orchestrator_topic_predict_open(struct topic_call *call)
{
    struct weir_error err;
    struct pipeline *pipeline = orchestrator_topic_pipeline(call);
    if (pipeline == NULL)
        return;
    const struct orchestrator_config *config = orchestrator_pipeline_config(pipeline);
    const char *dataset = choose_dataset(call, config);
    if (dataset == NULL)
        topic_fail(call, WEIR_INVALID, "pipeline %s has no dataset '%.80s'", config->name,
                   orchestrator_topic_text(call, "dataset", ""));
    else if (orchestrator_topic_choose_model(call, pipeline, &call->text, &err) != WEIR_OK)
        orchestrator_topic_refuse(call, &err);
    else
        answer_open(call, config, dataset);
}
