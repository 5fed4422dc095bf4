/* predict: what a model says about the samples of a time interval. A run like any other, whose outputs are read once
 * and removed. */
#include "core/base/log.h"
#include "core/base/memory.h"
#include "core/base/rng.h"
#include "core/wire/outputs.h"
#include "orchestrator/pipeline/pipeline.h"
#include "orchestrator/runs/run.h"
#include "orchestrator/topics/classes.h"
#include "orchestrator/values/json_number.h"
#include "orchestrator/values/json_object.h"

#include <inttypes.h>
#include <stdlib.h>

enum { LIMIT_DEFAULT = 20, LIMIT_MAX = 100000, PREDICT_REQUEST_MS = 10000 };

static void forget(struct topic_call *call)
{
    orchestrator_run_forget(call->all->runs, call);
}

static json_t *outputs_json(const struct weir_outputs *outputs, int64_t limit)
{
    json_t *predictions = json_array();
    for (size_t i = 0; i < outputs->count && (int64_t)i < limit; i++) {
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

static void on_run(void *owner, const struct run_result *run, const struct weir_error *err)
{
    struct topic_call *call = owner;
    struct weir_error problem;
    struct weir_outputs outputs = {0};
    if (run == NULL) {
        orchestrator_topic_refuse(call, err);
        return;
    }
    WEIR_AUTO_FREE char *path = weir_format("%s/%s", run->directory, run->outputs_file);
    if (weir_outputs_open(path, &outputs, &problem) != WEIR_OK) {
        orchestrator_topic_refuse(call, &problem);
        return;
    }
    int64_t limit = orchestrator_topic_number(call, "limit", LIMIT_DEFAULT);
    json_t *answer = JSON_FIELDS(
        JSON_TEXT("model", call->text), JSON_NUMBER("samples", outputs.count),
        JSON_NEW("predictions", outputs_json(&outputs, limit < LIMIT_MAX ? limit : LIMIT_MAX)));
    weir_outputs_close(&outputs);
    if (orchestrator_run_remove_files(call->context, run->number, &problem) != WEIR_OK)
        weir_log(WEIR_LOG_WARN, "files of a finished run stay", "%s", problem.text);
    answer_with_classes(call, answer);
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
