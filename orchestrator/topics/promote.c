/* promote, rollback: a person says which model is the active one. */
#include "orchestrator/context/events.h"
#include "orchestrator/judging/promotion.h"
#include "orchestrator/models/store.h"
#include "orchestrator/pipeline/pipeline.h"
#include "orchestrator/topics/topic.h"
#include "orchestrator/values/json_object.h"

#include <string.h>

struct promotion {
    struct context *context;
    int64_t pipeline;
    const char *model, *reason;
};

static enum weir_status effect_promoted(void *subject, const void *what, struct weir_error *err)
{
    const struct promotion *promotion = what;
    (void)subject;
    return orchestrator_promote(promotion->context, promotion->pipeline, promotion->model,
                                promotion->reason, err);
}

/* Answers with the model that is the active one now, and the one that was. */
static void make_active(struct topic_call *call, const struct promotion *promotion)
{
    struct weir_error err;
    WEIR_AUTO(weir_rows) rows = NULL;
    enum weir_status status =
        DB_RUN(call->context->db, Q_model_active, &rows, &err, DB_I64(promotion->pipeline));
    bool is_so =
        status == WEIR_OK && strcmp(weir_rows_text(rows, 0, "model"), promotion->model) == 0;
    if (status == WEIR_OK && !is_so)
        status = orchestrator_commit(call->context, effect_promoted, NULL, promotion, &err);
    if (status == WEIR_OK) /* it may have seen what is taken back */
        orchestrator_warm_end(call->all->runs->warm, promotion->pipeline,
                              "another model is the active one");
    if (status != WEIR_OK)
        orchestrator_topic_refuse(call, &err);
    else
        orchestrator_topic_answer(
            call, JSON_FIELDS(JSON_TEXT("model", promotion->model),
                              JSON_TEXT("previous", weir_rows_text(rows, 0, "model"))));
}

void orchestrator_topic_model_promote(struct topic_call *call)
{
    struct weir_error err;
    struct stored_model model = {0};
    if (orchestrator_model_get(call->context, orchestrator_topic_text(call, "model", ""), &model,
                               &err) != WEIR_OK) {
        orchestrator_topic_refuse(call, &err);
        return;
    }
    if (strcmp(model.state, "stored") != 0)
        topic_fail(call, WEIR_NOT_FOUND, "model %s is %s: its files are gone", model.id,
                   model.state);
    else
        make_active(call, &(struct promotion){call->context, model.pipeline, model.id,
                                              "weir models promote"});
    orchestrator_model_fini(&model);
}

void orchestrator_topic_model_rollback(struct topic_call *call)
{
    struct weir_error err;
    WEIR_AUTO(weir_rows) rows = NULL;
    const struct pipeline *pipeline = orchestrator_topic_pipeline(call);
    if (pipeline == NULL)
        return;
    int64_t number = orchestrator_pipeline_id(pipeline);
    if (DB_RUN(call->context->db, Q_promotion_earlier, &rows, &err, DB_I64(number)) != WEIR_OK)
        orchestrator_topic_refuse(call, &err);
    else if (weir_rows_count(rows) == 0)
        topic_fail(
            call, WEIR_NOT_FOUND,
            "pipeline %s: no earlier model that was the active one has its files; see weir models list",
            orchestrator_pipeline_config(pipeline)->name);
    else
        make_active(call, &(struct promotion){call->context, number, weir_rows_text(rows, 0, "id"),
                                              "weir models rollback"});
}
