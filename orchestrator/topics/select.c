/* select: what the next trigger of a pipeline would pick, if it fired now. Nothing changes. */
#include "orchestrator/pipeline/pipeline.h"
#include "orchestrator/topics/topic.h"
#include "orchestrator/values/json_object.h"

enum { PREVIEW_REQUEST_MS = 60000 };

static json_t *groups_json(const struct msg_preview_is *preview)
{
    json_t *groups = json_array();
    for (size_t i = 0; i < preview->kinds.count; i++)
        json_array_append_new(
            groups, JSON_FIELDS(JSON_TEXT("by", preview->kinds.at[i]),
                                JSON_TEXT("group", preview->names.at[i]),
                                JSON_NUMBER("samples", preview->group_samples.at[i]),
                                JSON_NUMBER("candidates", preview->group_candidates.at[i]),
                                JSON_TEXT("why", preview->whys.at[i])));
    return groups;
}

static bool is_whole(const struct msg_preview_is *preview)
{
    size_t count = preview->kinds.count;
    return preview->names.count == count && preview->group_samples.count == count &&
           preview->group_candidates.count == count && preview->whys.count == count;
}

static void on_preview(void *owner, const struct weir_reply *reply, const struct weir_error *err)
{
    struct topic_call *call = owner;
    if (reply == NULL) {
        orchestrator_topic_refuse(call, err);
        return;
    }
    const struct msg_preview_is *preview = reply->message;
    if (!is_whole(preview)) {
        topic_fail(call, WEIR_INTERNAL, "the selector sent no good preview");
        return;
    }
    orchestrator_topic_answer(
        call,
        JSON_FIELDS(
            JSON_TEXT("pipeline",
                      orchestrator_pipeline_config(
                          orchestrator_pipeline_by_id(call->all->pipelines, call->number))
                          ->name),
            JSON_NUMBER("trigger", preview->trigger), JSON_TEXT("policy", preview->policy),
            JSON_NUMBER("samples", preview->samples),
            JSON_NUMBER("candidates", preview->candidates), JSON_TEXT("reason", preview->reason),
            JSON_TEXT("scored_by", preview->scored_by), JSON_NUMBER("unscored", preview->unscored),
            JSON_NUMBER("held_out", preview->held_out), JSON_NEW("groups", groups_json(preview))));
}

void orchestrator_topic_select(struct topic_call *call)
{
    const struct pipeline *pipeline = orchestrator_topic_pipeline(call);
    if (pipeline == NULL)
        return;
    call->number = orchestrator_pipeline_id(pipeline);
    WEIR_AUTO(weir_rows) newest = NULL;
    struct weir_error err;
    if (DB_RUN(call->context->db, Q_model_newest, &newest, &err, DB_I64(call->number)) != WEIR_OK) {
        orchestrator_topic_refuse(call, &err);
        return;
    }
    const struct msg_preview asked = {
        .pipeline = orchestrator_pipeline_config(pipeline)->name,
        .positions = orchestrator_pipeline_outline(pipeline).positions,
        .model = weir_rows_count(newest) > 0 ? weir_rows_text(newest, 0, "id") : "",
    };
    weir_rpc_call(call->context->selector, MSG_preview, &asked, PREVIEW_REQUEST_MS, on_preview,
                  call);
}
