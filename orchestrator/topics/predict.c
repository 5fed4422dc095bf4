/* predict: what a model says about the samples of a time interval. A run like any other, whose outputs are read once
 * and removed. */
#include "core/base/log.h"
#include "core/base/memory.h"
#include "core/base/rng.h"
#include "orchestrator/pipeline/pipeline.h"
#include "orchestrator/runs/run.h"
#include "orchestrator/topics/classes.h"
#include "orchestrator/topics/run_outputs.h"
#include "orchestrator/values/json_number.h"
#include "orchestrator/values/json_object.h"

#include <inttypes.h>
#include <stdlib.h>

enum {
    LIMIT_DEFAULT = 20,
    LIMIT_MAX = 100000,
    ANSWER_BYTES = 8 << 20, /* of predictions: a message is bounded */
    ROW_BYTES = 80,         /* of JSON … */
    VALUE_BYTES = 24,       /* … and each value */
    PREDICT_REQUEST_MS = 10000,
};

static void forget(struct topic_call *call)
{
    orchestrator_run_forget(call->all->runs, call);
}

/* Number of predictions that are answered: as many as were asked for, and fit. */
static size_t answered_of(const struct topic_call *call, const struct weir_outputs *outputs)
{
    int64_t limit = orchestrator_topic_number(call, "limit", LIMIT_DEFAULT);
    size_t fit = ANSWER_BYTES / (ROW_BYTES + VALUE_BYTES * outputs->width) + 1;
    fit = fit < LIMIT_MAX ? fit : LIMIT_MAX;
    fit = fit < outputs->count ? fit : outputs->count;
    return limit < (int64_t)fit ? (size_t)(limit > 0 ? limit : 0) : fit;
}

static json_t *outputs_json(const struct weir_outputs *outputs, size_t count)
{
    json_t *predictions = json_array();
    for (size_t i = 0; i < count; i++) {
        json_t *values = json_array();
        for (size_t j = 0; j < outputs->width; j++) {
            double value = (double)outputs->values[i * outputs->width + j];
            json_array_append_new(values, orchestrator_json_number(value));
        }
        json_array_append_new(predictions, JSON_FIELDS(JSON_NUMBER("id", outputs->ids[i]),
                                                       JSON_NUMBER("label", outputs->labels[i]),
                                                       JSON_NEW("values", values)));
    }
    return predictions;
}

/* Consumes both. */
static void answer_with_classes(struct topic_call *call, json_t *answer)
{
    orchestrator_topic_answer_with_classes(
        call, orchestrator_pipeline_config(call->pipeline)->datasets[0], answer);
}

static void on_opened(struct topic_call *call, const struct weir_outputs *outputs,
                      const struct weir_error *err)
{
    struct weir_error problem;
    if (outputs == NULL) {
        orchestrator_topic_refuse(call, err);
        return;
    }
    if (orchestrator_run_remove_files(call->context, call->number, &problem) != WEIR_OK)
        weir_log(WEIR_LOG_WARN, "files of a finished run stay", "%s", problem.text);
    answer_with_classes(
        call,
        JSON_FIELDS(JSON_TEXT("model", call->text), JSON_NUMBER("samples", outputs->count),
                    JSON_NEW("predictions", outputs_json(outputs, answered_of(call, outputs)))));
}

static void on_run(void *owner, const struct run_result *run, const struct weir_error *err)
{
    struct topic_call *call = owner;
    if (run == NULL) {
        orchestrator_topic_refuse(call, err);
        return;
    }
    WEIR_AUTO_FREE char *path = weir_format("%s/%s", run->directory, run->outputs_file);
    call->number = run->number;
    orchestrator_topic_open_outputs(call, path, on_opened);
}

static void on_sealed(void *owner, const struct weir_reply *reply, const struct weir_error *err)
{
    struct topic_call *call = owner;
    struct weir_error problem;
    if (reply == NULL) {
        orchestrator_topic_refuse(call, err);
        return;
    }
    const struct msg_selected *selected = reply->message;
    if (selected->samples == 0) {
        answer_with_classes(call,
                            JSON_FIELDS(JSON_TEXT("model", call->text), JSON_NUMBER("samples", 0),
                                        JSON_NEW("predictions", json_array())));
        return;
    }
    WEIR_AUTO_FREE char *purpose =
        weir_format(ORCHESTRATOR_RUN_PREDICTS "%016" PRIx64, weir_random_u64());
    struct run_wanted wanted = {
        .pipeline = orchestrator_pipeline_outline(call->pipeline),
        .purpose = purpose,
        .mode = "predict",
        .set_digest = selected->digest,
        .set_path = selected->path,
        .epochs = 1,
        .base_model = call->text,
    };
    if (orchestrator_run_start(call->all->runs, &wanted, on_run, call, &problem) != WEIR_OK) {
        orchestrator_topic_refuse(call, &problem);
        return;
    }
    call->forget = forget;
}

void orchestrator_topic_predict(struct topic_call *call)
{
    struct weir_error err;
    struct pipeline *pipeline = orchestrator_topic_models_of(call);
    if (pipeline == NULL)
        return;
    struct msg_interval_seal seal = {
        .pipeline = orchestrator_pipeline_config(pipeline)->name,
        .positions = orchestrator_pipeline_outline(pipeline).positions,
    };
    call->pipeline = pipeline;
    enum weir_status status = orchestrator_topic_choose_model(call, pipeline, &call->text, &err);
    if (status == WEIR_OK)
        status = orchestrator_topic_interval(call, &seal.from_time, &seal.to_time, &err);
    if (status != WEIR_OK) {
        orchestrator_topic_refuse(call, &err);
        return;
    }
    weir_rpc_call(call->context->selector, MSG_interval_seal, &seal, PREDICT_REQUEST_MS, on_sealed,
                  call);
}
