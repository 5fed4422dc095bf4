/* dry_run: what a pipeline file would trigger, train on and cost. Nothing changes. */
#include "orchestrator/pipeline/rehearsal.h"
#include "orchestrator/screen/lines.h"
#include "orchestrator/topics/topic.h"

static void forget(struct topic_call *call)
{
    orchestrator_rehearsal_free(call->rehearsal);
    call->rehearsal = NULL;
}

static void on_rehearsed(void *owner, json_t *json, const struct weir_error *err)
{
    struct topic_call *call = owner;
    forget(call);
    if (json == NULL) {
        orchestrator_topic_refuse(call, err);
        return;
    }
    WEIR_AUTO_BUF line = {0};
    orchestrator_screen_line_of(json, &line);
    json_object_set_new(json, "line", json_string(weir_buf_text(&line)));
    json_object_del(json, "event");
    orchestrator_topic_answer(call, json);
}

void orchestrator_topic_dry_run(struct topic_call *call)
{
    struct weir_error err;
    if (orchestrator_rehearse(call->context, orchestrator_topic_text(call, "file", "pipeline file"),
                              weir_bytes_of(orchestrator_topic_text(call, "text", "")), false,
                              &call->rehearsal, &err) != WEIR_OK) {
        orchestrator_topic_refuse(call, &err);
        return;
    }
    call->forget = forget;
    orchestrator_rehearsal_begin(call->rehearsal, on_rehearsed, call);
}
