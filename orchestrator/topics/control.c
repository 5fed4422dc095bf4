/* submit, list, pause, resume, stop, remove, rerun: pipelines are taken in, listed, and told what to do. */
#include "orchestrator/context/events.h"
#include "orchestrator/pipeline/pipeline.h"
#include "orchestrator/topics/topic.h"

#include <string.h>

static json_t *standing_json(const struct topic_call *call, const struct pipeline *pipeline)
{
    const struct orchestrator_config *config = orchestrator_pipeline_config(pipeline);
    enum pipeline_state state = orchestrator_pipeline_state(pipeline);
    return json_pack("{ss,sI,ss,ss,ss,ss,ss,ss,sb}", "pipeline", config->name, "number",
                     (json_int_t)orchestrator_pipeline_id(pipeline), "mode",
                     config->mode == MODE_LIVE ? "live" : "replay", "state",
                     pipeline_state_name(state), "doing", pipeline_state_text(state), "error",
                     orchestrator_pipeline_error(pipeline), "file",
                     orchestrator_pipeline_outline(pipeline).file, "wish",
                     orchestrator_pipeline_wish(pipeline), "held", call->all->pipelines->are_held);
}

void topic_submit(struct topic_call *call)
{
    struct weir_error err;
    struct pipeline *pipeline = NULL;
    bool is_new = false;
    const char *text = topic_text(call, "text", "");
    if (topic_flag(call, "dry_run")) {
        topic_dry_run(call);
        return;
    }
    if (orchestrator_pipeline_submit(call->all->pipelines,
                                     topic_text(call, "file", "pipeline file"), weir_bytes_of(text),
                                     &pipeline, &is_new, &err) != WEIR_OK) {
        topic_refuse(call, &err);
        return;
    }
    json_t *answer = standing_json(call, pipeline);
    json_object_set_new(answer, "known", json_boolean(!is_new));
    topic_answer(call, answer);
}

void topic_list(struct topic_call *call)
{
    json_t *pipelines = json_array();
    for (const struct pipeline *pipeline = call->all->pipelines->first; pipeline != NULL;
         pipeline = orchestrator_pipeline_next(pipeline)) {
        if (orchestrator_pipeline_state(pipeline) != PIPELINE_REMOVED)
            json_array_append_new(pipelines, standing_json(call, pipeline));
    }
    topic_answer(
        call, json_pack("{so,sb}", "pipelines", pipelines, "held", call->all->pipelines->are_held));
}

/* Answers how the pipeline stands behind the order; `status` is what became of that. */
static void answer_order(struct topic_call *call, const struct pipeline *pipeline,
                         enum weir_status status, const struct weir_error *err)
{
    if (status == WEIR_OK)
        topic_answer(call, standing_json(call, pipeline));
    else
        topic_refuse(call, err);
}

typedef enum weir_status order_fn(struct pipeline *pipeline, struct weir_error *err);

static void give_order(struct topic_call *call, order_fn *order)
{
    struct weir_error err;
    struct pipeline *pipeline = topic_pipeline(call);
    if (pipeline != NULL)
        answer_order(call, pipeline, order(pipeline, &err), &err);
}

void topic_pause(struct topic_call *call)
{
    give_order(call, orchestrator_pipeline_pause);
}

void topic_stop(struct topic_call *call)
{
    give_order(call, orchestrator_pipeline_stop);
}

void topic_resume(struct topic_call *call)
{
    give_order(call, orchestrator_pipeline_resume);
}

static enum weir_status remove_for_good(struct pipeline *pipeline, struct weir_error *err)
{
    return orchestrator_pipeline_remove(pipeline, false, err);
}

void topic_remove(struct topic_call *call)
{
    give_order(call, remove_for_good);
}

static enum weir_status run_again(struct pipeline *pipeline, struct weir_error *err)
{
    return orchestrator_pipeline_remove(pipeline, true, err);
}

void topic_rerun(struct topic_call *call)
{
    give_order(call, run_again);
}

/* Progress of an order, by the number of the pipeline: its name may be another one's by now. */
void topic_standing(struct topic_call *call)
{
    struct weir_error err;
    WEIR_AUTO(weir_rows) rows = NULL;
    int64_t number = topic_number(call, "number", 0);
    const struct pipeline *pipeline = orchestrator_pipeline_by_id(call->all->pipelines, number);
    if (pipeline == NULL) {
        topic_fail(call, WEIR_NOT_FOUND, "pipeline number %lld: there is none", (long long)number);
        return;
    }
    if (DB_RUN(call->context->db, Q_event_get, &rows, &err, DB_I64(number),
               DB_TEXT("pipeline_removed")) != WEIR_OK) {
        topic_refuse(call, &err);
        return;
    }
    json_t *answer = standing_json(call, pipeline);
    if (weir_rows_count(rows) > 0)
        json_object_set_new(answer, "removed", orchestrator_json_of(weir_rows_text(rows, 0, 0)));
    topic_answer(call, answer);
}
