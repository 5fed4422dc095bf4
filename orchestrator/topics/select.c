/* select: what the next trigger of a pipeline would pick, if it fired now. Nothing changes. */
#include "orchestrator/pipeline/pipeline.h"
#include "orchestrator/topics/topic.h"

enum { PREVIEW_ASK_MS = 60000 };

static json_t *groups_json(const struct msg_preview_is *preview)
{
    json_t *groups = json_array();
    for (size_t i = 0; i < preview->kinds.count; i++)
        json_array_append_new(
            groups,
            json_pack("{ss,ss,sI,sI,ss}", "by", preview->kinds.at[i], "group", preview->names.at[i],
                      "samples", (json_int_t)preview->group_samples.at[i], "candidates",
                      (json_int_t)preview->group_candidates.at[i], "why", preview->whys.at[i]));
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
        topic_refuse(call, err);
        return;
    }
    const struct msg_preview_is *preview = reply->message;
    if (!is_whole(preview)) {
        topic_fail(call, WEIR_INTERNAL, "the selector sent no good preview");
        return;
    }
    topic_answer(
        call, json_pack("{ss,sI,ss,sI,sI,ss,ss,sI,sI,so}", "pipeline",
                        orchestrator_pipeline_config(
                            orchestrator_pipeline_by_id(call->all->pipelines, call->number))
                            ->name,
                        "trigger", (json_int_t)preview->trigger, "policy", preview->policy,
                        "samples", (json_int_t)preview->samples, "candidates",
                        (json_int_t)preview->candidates, "reason", preview->reason, "scored_by",
                        preview->scored_by, "unscored", (json_int_t)preview->unscored, "held_out",
                        (json_int_t)preview->held_out, "groups", groups_json(preview)));
}

void topic_select(struct topic_call *call)
{
    const struct pipeline *pipeline = topic_pipeline(call);
    if (pipeline == NULL)
        return;
    call->number = orchestrator_pipeline_id(pipeline);
    WEIR_AUTO(weir_rows) newest = NULL;
    struct weir_error err;
    if (DB_RUN(call->context->db, Q_model_newest, &newest, &err, DB_I64(call->number)) != WEIR_OK) {
        topic_refuse(call, &err);
        return;
    }
    const struct msg_preview asked = {
        .pipeline = orchestrator_pipeline_config(pipeline)->name,
        .positions = orchestrator_pipeline_outline(pipeline).positions,
        .model = weir_rows_count(newest) > 0 ? weir_rows_text(newest, 0, 0) : "",
    };
    weir_rpc_call(call->context->selector, MSG_preview, &asked, PREVIEW_ASK_MS, on_preview, call);
}
