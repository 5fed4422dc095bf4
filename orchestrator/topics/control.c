/* submit, list, stop: pipelines are taken in, listed, and told what to do. */
#include "orchestrator/pipeline/pipeline.h"
#include "orchestrator/topics/topic.h"

#include <string.h>

static json_t *standing_json(const struct pipeline *pipeline)
{
    const struct orchestrator_config *config = orchestrator_pipeline_config(pipeline);
    enum pipeline_state state = orchestrator_pipeline_state(pipeline);
    return json_pack("{ss,sI,ss,ss,ss,ss,ss}", "pipeline", config->name, "number",
                     (json_int_t)orchestrator_pipeline_id(pipeline), "mode",
                     config->mode == MODE_LIVE ? "live" : "replay", "state",
                     pipeline_state_name(state), "doing", pipeline_state_text(state), "error",
                     orchestrator_pipeline_error(pipeline), "file",
                     orchestrator_pipeline_file(pipeline));
}

void topic_submit(struct topic_call *call)
{
    struct weir_error err;
    struct pipeline *pipeline = NULL;
    bool is_new = false;
    const char *text = topic_text(call, "text", "");
    if (orchestrator_pipeline_submit(call->orch, topic_text(call, "file", "pipeline file"),
                                     weir_bytes_of(text), &pipeline, &is_new, &err) != WEIR_OK) {
        topic_refuse(call, &err);
        return;
    }
    json_t *answer = standing_json(pipeline);
    json_object_set_new(answer, "known", json_boolean(!is_new));
    json_object_set_new(answer, "held", json_boolean(call->orch->hold));
    topic_answer(call, answer);
}

void topic_list(struct topic_call *call)
{
    json_t *pipelines = json_array();
    for (const struct pipeline *pipeline = call->orch->pipelines; pipeline != NULL;
         pipeline = orchestrator_pipeline_next(pipeline))
        json_array_append_new(pipelines, standing_json(pipeline));
    topic_answer(call, json_pack("{so,sb}", "pipelines", pipelines, "held", call->orch->hold));
}

void topic_stop(struct topic_call *call)
{
    struct pipeline *pipeline = topic_pipeline(call);
    if (pipeline == NULL)
        return;
    orchestrator_pipeline_stop(pipeline);
    topic_answer(call, standing_json(pipeline));
}
