/* submit, list, pause, resume, stop, remove, rerun: pipelines are taken in, listed and ordered. */
#include "orchestrator/context/events.h"
#include "orchestrator/pipeline/pipeline.h"
#include "orchestrator/topics/topic.h"

#include <string.h>

static const char *text_or_null(const char *text)
{
    return text[0] == '\0' ? NULL : text;
}

json_t *orchestrator_topic_standing_json(const struct topic_call *call,
                                         const struct pipeline *pipeline)
{
    const struct orchestrator_config *config = orchestrator_pipeline_config(pipeline);
    enum pipeline_state state = orchestrator_pipeline_state(pipeline);
    return JSON_FIELDS(
        JSON_TEXT("pipeline", config->name),
        JSON_NUMBER("number", orchestrator_pipeline_id(pipeline)),
        JSON_TEXT("mode", config->mode == MODE_LIVE ? "live" : "replay"),
        JSON_TEXT("state", orchestrator_pipeline_state_name(state)),
        JSON_TEXT("doing", orchestrator_pipeline_state_text(state)),
        JSON_TEXT("error", orchestrator_pipeline_error(pipeline)),
        JSON_TEXT("file", orchestrator_pipeline_outline(pipeline).file),
        JSON_TEXT("wish", orchestrator_pipeline_order(pipeline)),
        JSON_TEXT_IF_ANY("tenant", text_or_null(orchestrator_pipeline_owner(pipeline))),
        JSON_FLAG("held", call->all->pipelines->are_held));
}

void orchestrator_topic_submit(struct topic_call *call)
{
    struct weir_error err;
    struct pipeline *pipeline = NULL;
    enum pipeline_submitted how = PIPELINE_KNOWN;
    const struct pipeline_file file = {
        .name = orchestrator_topic_text(call, "file", "pipeline file"),
        .text = weir_bytes_of(orchestrator_topic_text(call, "text", "")),
        .owner = call->sender.tenant,
    };
    if (orchestrator_topic_flag(call, "dry_run")) {
        orchestrator_topic_dry_run(call);
        return;
    }
    if (orchestrator_pipeline_submit(call->all->pipelines, &file, &pipeline, &how, &err) !=
        WEIR_OK) {
        orchestrator_topic_refuse(call, &err);
        return;
    }
    json_t *answer = orchestrator_topic_standing_json(call, pipeline);
    json_object_set_new(answer, "known", json_boolean(how != PIPELINE_TAKEN_IN));
    json_object_set_new(answer, "replaced", json_boolean(how == PIPELINE_REPLACED));
    orchestrator_topic_answer(call, answer);
}

void orchestrator_topic_list(struct topic_call *call)
{
    json_t *pipelines = json_array();
    for (const struct pipeline *pipeline = call->all->pipelines->first; pipeline != NULL;
         pipeline = orchestrator_pipeline_next(pipeline)) {
        if (orchestrator_pipeline_state(pipeline) != PIPELINE_REMOVED &&
            orchestrator_topic_sees(call, pipeline))
            json_array_append_new(pipelines, orchestrator_topic_standing_json(call, pipeline));
    }
    orchestrator_topic_answer(call, JSON_FIELDS(JSON_NEW("pipelines", pipelines),
                                                JSON_FLAG("held", call->all->pipelines->are_held)));
}

/* Answers how the pipeline stands after the order; `status` is what became of that. */
static void answer_order(struct topic_call *call, const struct pipeline *pipeline,
                         enum weir_status status, const struct weir_error *err)
{
    if (status == WEIR_OK)
        orchestrator_topic_answer(call, orchestrator_topic_standing_json(call, pipeline));
    else
        orchestrator_topic_refuse(call, err);
}

typedef enum weir_status order_fn(struct pipeline *pipeline, struct weir_error *err);

static void give_order(struct topic_call *call, order_fn *order)
{
    struct weir_error err;
    struct pipeline *pipeline = orchestrator_topic_pipeline(call);
    if (pipeline != NULL)
        answer_order(call, pipeline, order(pipeline, &err), &err);
}

void orchestrator_topic_pause(struct topic_call *call)
{
    give_order(call, orchestrator_pipeline_pause);
}

void orchestrator_topic_stop(struct topic_call *call)
{
    give_order(call, orchestrator_pipeline_stop);
}

static enum weir_status remove_for_good(struct pipeline *pipeline, struct weir_error *err)
{
    return orchestrator_pipeline_remove(pipeline, false, err);
}

void orchestrator_topic_remove(struct topic_call *call)
{
    give_order(call, remove_for_good);
}

static enum weir_status run_again(struct pipeline *pipeline, struct weir_error *err)
{
    return orchestrator_pipeline_remove(pipeline, true, err);
}

void orchestrator_topic_rerun(struct topic_call *call)
{
    give_order(call, run_again);
}

/* Progress of an order, by the number of the pipeline: its name may be another one's by now. */
void orchestrator_topic_standing(struct topic_call *call)
{
    struct weir_error err;
    WEIR_AUTO(weir_rows) rows = NULL;
    int64_t number = orchestrator_topic_number(call, "number", 0);
    const struct pipeline *pipeline = orchestrator_pipeline_by_id(call->all->pipelines, number);
    if (pipeline == NULL) {
        topic_fail(call, WEIR_NOT_FOUND, "pipeline number %lld: there is none", (long long)number);
        return;
    }
    if (DB_RUN(call->context->db, Q_event_get, &rows, &err, DB_I64(number),
               DB_TEXT("pipeline_removed")) != WEIR_OK) {
        orchestrator_topic_refuse(call, &err);
        return;
    }
    json_t *answer = orchestrator_topic_standing_json(call, pipeline);
    if (weir_rows_count(rows) > 0)
        json_object_set_new(answer, "removed",
                            orchestrator_json_of(weir_rows_text(rows, 0, "json")));
    orchestrator_topic_answer(call, answer);
}
