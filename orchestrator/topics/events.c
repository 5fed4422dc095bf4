/* events: what has happened after a number, and whether more may come. Whoever watches asks again. */
#include "orchestrator/context/events.h"
#include "orchestrator/pipeline/pipeline.h"
#include "orchestrator/screen/lines.h"
#include "orchestrator/topics/topic.h"

/* By its number where one is given: its name may be another one's by now. NULL: refused already. */
static struct pipeline *find_pipeline(struct topic_call *call)
{
    int64_t number = orchestrator_topic_number(call, "number", 0);
    struct pipeline *pipeline = number == 0
                                    ? orchestrator_topic_pipeline(call)
                                    : orchestrator_pipeline_by_id(call->all->pipelines, number);
    if (pipeline == NULL && number != 0)
        topic_fail(call, WEIR_NOT_FOUND, "pipeline number %lld: there is none", (long long)number);
    return pipeline;
}

/* Consumes `event`. `line` is what a person is shown; empty for an event that people need not see. */
static json_t *entry_json(json_t *event)
{
    WEIR_AUTO_BUF line = {0};
    orchestrator_screen_line_of(event, &line);
    return JSON_FIELDS(JSON_NEW("event", event), JSON_TEXT("line", weir_buf_text(&line)));
}

static void add_standing(json_t *json, const struct pipeline *pipeline)
{
    enum pipeline_state state = orchestrator_pipeline_state(pipeline);
    json_object_set_new(json, "pipeline",
                        json_string(orchestrator_pipeline_config(pipeline)->name));
    json_object_set_new(json, "number",
                        json_integer((json_int_t)orchestrator_pipeline_id(pipeline)));
    json_object_set_new(json, "state", json_string(orchestrator_pipeline_state_name(state)));
    json_object_set_new(json, "error", json_string(orchestrator_pipeline_error(pipeline)));
    bool is_over = orchestrator_pipeline_at_rest(state) && state != PIPELINE_PAUSED;
    json_object_set_new(json, "over", json_boolean(is_over));
}

void orchestrator_topic_events(struct topic_call *call)
{
    struct weir_error err;
    WEIR_AUTO(weir_rows) rows = NULL;
    bool of_all = orchestrator_topic_text(call, "pipeline", NULL) == NULL &&
                  orchestrator_topic_number(call, "number", 0) == 0;
    const struct pipeline *pipeline = of_all ? NULL : find_pipeline(call);
    if (pipeline == NULL && !of_all)
        return;
    int64_t last = orchestrator_topic_number(call, "after", 0);
    int64_t wanted = pipeline == NULL ? 0 : orchestrator_pipeline_id(pipeline);
    if (DB_RUN(call->context->db, Q_event_after, &rows, &err, DB_I64(last), DB_I64(wanted),
               DB_I64(ORCHESTRATOR_EVENTS_AT_ONCE)) != WEIR_OK) {
        orchestrator_topic_refuse(call, &err);
        return;
    }
    json_t *events = json_array();
    for (size_t i = 0; i < weir_rows_count(rows); i++) {
        last = weir_rows_i64(rows, i, "number");
        if (orchestrator_topic_sees_number(call, weir_rows_i64(rows, i, "pipeline")))
            json_array_append_new(
                events, entry_json(orchestrator_json_of(weir_rows_text(rows, i, "json"))));
    }
    json_t *answer = JSON_FIELDS(JSON_NEW("events", events), JSON_NUMBER("after", last));
    if (pipeline != NULL)
        add_standing(answer, pipeline);
    orchestrator_topic_answer(call, answer);
}
