/* Names of classes, which storage alone knows: those that came with samples are stored nowhere else. */
#include "orchestrator/topics/classes.h"

#include "orchestrator/values/json_object.h"

static void on_dataset(void *owner, const struct weir_reply *reply, const struct weir_error *err)
{
    struct topic_call *call = owner;
    if (reply == NULL) {
        orchestrator_topic_refuse(call, err);
        return;
    }
    const struct msg_dataset_is *dataset = reply->message;
    json_object_set_new(call->collected, "classes", orchestrator_json_texts(dataset->classes));
    orchestrator_topic_answer(call, json_incref(call->collected));
}

void orchestrator_topic_answer_with_classes(struct topic_call *call, const char *dataset,
                                            json_t *json)
{
    const struct msg_dataset_ask request = {.name = dataset};
    call->collected = json;
    weir_rpc_call(call->context->storage, MSG_dataset_ask, &request, ORCHESTRATOR_REQUEST_MS,
                  on_dataset, call);
}
