/* predict: what a model says about the samples of a time interval. A run like any other, whose outputs are read once
 * and removed. */
#include "core/base/clock.h"
#include "core/base/log.h"
#include "core/base/memory.h"
#include "core/base/rng.h"
#include "core/wire/outputs.h"
#include "orchestrator/erasures/erasure.h"
#include "orchestrator/models/store.h"
#include "orchestrator/pipeline/pipeline.h"
#include "orchestrator/runs/run.h"
#include "orchestrator/topics/topic.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

enum { LIMIT_DEFAULT = 20, LIMIT_MAX = 100000, PREDICT_ASK_MS = 10000 };

static void forget(struct topic_call *call)
{
    orchestrator_run_forget(call->orch, call);
}

static json_t *outputs_json(const struct weir_outputs *outputs, int64_t limit)
{
    json_t *predictions = json_array();
    for (size_t i = 0; i < outputs->count && (int64_t)i < limit; i++) {
        json_t *values = json_array();
        for (size_t j = 0; j < outputs->width; j++) {
            json_array_append_new(values,
                                  json_real((double)outputs->values[i * outputs->width + j]));
        }
        json_array_append_new(predictions,
                              json_pack("{sI,sI,so}", "id", (json_int_t)outputs->ids[i], "label",
                                        (json_int_t)outputs->labels[i], "values", values));
    }
    return predictions;
}

static void on_run(void *owner, const struct run_result *run, const struct weir_error *err)
{
    struct topic_call *call = owner;
    struct weir_error problem;
    struct weir_outputs outputs = {0};
    if (run == NULL) {
        topic_refuse(call, err);
        return;
    }
    WEIR_AUTO_FREE char *path = weir_format("%s/%s", run->directory, run->outputs_file);
    if (weir_outputs_open(path, &outputs, &problem) != WEIR_OK) {
        topic_refuse(call, &problem);
        return;
    }
    int64_t limit = topic_number(call, "limit", LIMIT_DEFAULT);
    json_t *answer =
        json_pack("{ss,sI,so}", "model", call->text, "samples", (json_int_t)outputs.count,
                  "predictions", outputs_json(&outputs, limit < LIMIT_MAX ? limit : LIMIT_MAX));
    weir_outputs_close(&outputs);
    if (orchestrator_run_remove_files(call->orch, run->number, &problem) != WEIR_OK)
        weir_log(WEIR_LOG_WARN, "files of a finished run stay", "%s", problem.text);
    topic_answer(call, answer);
}

static void on_sealed(void *owner, const struct weir_reply *reply, const struct weir_error *err)
{
    struct topic_call *call = owner;
    struct weir_error problem;
    if (reply == NULL) {
        topic_refuse(call, err);
        return;
    }
    const struct msg_selected *selected = reply->message;
    if (reply->type != MSG_selected || selected->samples == 0) {
        topic_answer(call,
                     json_pack("{ss,si,s[]}", "model", call->text, "samples", 0, "predictions"));
        return;
    }
    WEIR_AUTO_FREE char *purpose = weir_format("predict/%016" PRIx64, weir_random_u64());
    struct run_wanted wanted = {
        .pipeline = call->number,
        .purpose = purpose,
        .mode = "predict",
        .set_digest = selected->digest,
        .set_path = selected->path,
        .epochs = 1,
        .base_model = call->text,
    };
    if (orchestrator_run_start(call->orch, &wanted, on_run, call, &problem) != WEIR_OK) {
        topic_refuse(call, &problem);
        return;
    }
    call->forget = forget;
}

static enum weir_status read_time(const struct topic_call *call, const char *key, int64_t fallback,
                                  int64_t *ret_time, struct weir_error *err)
{
    const char *text = topic_text(call, key, NULL);
    *ret_time = fallback;
    if (text != NULL && !weir_time_parse(text, strlen(text), ret_time)) {
        return weir_fail(err, WEIR_INVALID, "%s: expected a time such as 2002-12-01, found '%.40s'",
                         key, text);
    }
    return WEIR_OK;
}

/* The model asked for, or the active one of its pipeline. */
static enum weir_status choose_model(struct topic_call *call, const struct pipeline *pipeline,
                                     struct weir_error *err)
{
    WEIR_AUTO(weir_rows) rows = NULL;
    const char *asked = topic_text(call, "model", NULL);
    if (asked != NULL) {
        struct stored_model model = {0};
        enum weir_status status = orchestrator_model_get(call->orch, asked, &model, err);
        if (status == WEIR_OK && strcmp(model.state, "stored") != 0) {
            status = weir_fail(err, WEIR_NOT_FOUND, "model %s is %s: its files are gone", asked,
                               model.state);
        }
        orchestrator_model_fini(&model);
        call->text = weir_strdup(asked);
        return status;
    }
    enum weir_status status = DB_RUN(call->orch->db, Q_model_newest, &rows, err,
                                     DB_I64(orchestrator_pipeline_id(pipeline)));
    if (status == WEIR_OK && weir_rows_count(rows) == 0) {
        status = weir_fail(err, WEIR_NOT_FOUND, "pipeline %s has no model yet",
                           orchestrator_pipeline_config(pipeline)->name);
    }
    if (status == WEIR_OK)
        call->text = weir_strdup(weir_rows_text(rows, 0, 0));
    return status;
}

void topic_predict(struct topic_call *call)
{
    struct weir_error err;
    struct pipeline *pipeline = topic_pipeline(call);
    if (pipeline == NULL)
        return;
    if (orchestrator_erasures_claim(call->orch)) {
        topic_fail(call, WEIR_UNAVAILABLE, "an erasure is replacing models"); /* asked again */
        return;
    }
    struct msg_interval_seal seal = {
        .pipeline = orchestrator_pipeline_config(pipeline)->name,
        .positions = orchestrator_pipeline_positions(pipeline),
    };
    call->number = orchestrator_pipeline_id(pipeline);
    enum weir_status status = choose_model(call, pipeline, &err);
    if (status == WEIR_OK)
        status = read_time(call, "from", INT64_MIN + 1, &seal.from_time, &err);
    if (status == WEIR_OK)
        status = read_time(call, "to", INT64_MAX, &seal.to_time, &err);
    if (status != WEIR_OK) {
        topic_refuse(call, &err);
        return;
    }
    weir_rpc_call(call->orch->selector, MSG_interval_seal, &seal, PREDICT_ASK_MS, on_sealed, call);
}
