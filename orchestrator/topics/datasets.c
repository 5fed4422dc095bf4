/* datasets: storage's accounting of every dataset, asked one after the other. */
#include "orchestrator/topics/topic.h"
#include "orchestrator/values/json_object.h"

#include <string.h>

static void request_next(struct topic_call *call, uint64_t after);

static json_t *dataset_json(const struct msg_dataset_is *dataset)
{
    json_t *json = JSON_FIELDS(
        JSON_TEXT("dataset", dataset->name), JSON_NUMBER("number", dataset->dataset),
        JSON_TEXT("format", dataset->format), JSON_FLAG("scanned", dataset->scanned),
        JSON_NUMBER("sequence", dataset->sequence), JSON_NUMBER("bytes", dataset->bytes));
    const struct {
        const char *name;
        uint64_t count;
    } COUNTS[] = {
        {"ingested", dataset->ingested},   {"live", dataset->live},
        {"erased", dataset->erased},       {"removed", dataset->removed},
        {"replaced", dataset->replaced},   {"quarantined", dataset->quarantined},
        {"duplicate", dataset->duplicate}, {"blocked", dataset->blocked},
        {"returned", dataset->returned},
    };
    for (size_t i = 0; i < WEIR_COUNT(COUNTS); i++)
        json_object_set_new(json, COUNTS[i].name, json_integer((json_int_t)COUNTS[i].count));
    json_object_set_new(json, "columns", orchestrator_json_lines(dataset->columns));
    json_object_set_new(json, "classes", orchestrator_json_texts(dataset->classes));
    json_object_set_new(json, "complaints", orchestrator_json_texts(dataset->complaints));
    return json;
}

static void on_dataset(void *owner, const struct weir_reply *reply, const struct weir_error *err)
{
    struct topic_call *call = owner;
    const struct msg_dataset_is *dataset = reply == NULL ? NULL : reply->message;
    if (reply == NULL && err->status != WEIR_NOT_FOUND) {
        orchestrator_topic_refuse(call, err);
    } else if (reply == NULL || dataset->dataset == 0) {
        orchestrator_topic_answer(call,
                                  JSON_FIELDS(JSON_NEW("datasets", json_incref(call->collected))));
    } else {
        if (orchestrator_topic_sees_dataset(call, dataset->name))
            json_array_append_new(call->collected, dataset_json(dataset));
        request_next(call, dataset->dataset);
    }
}

static void request_next(struct topic_call *call, uint64_t after)
{
    struct msg_dataset_request request = {.name = "", .after = after};
    weir_rpc_call(call->context->storage, MSG_dataset_request, &request, ORCHESTRATOR_REQUEST_MS,
                  on_dataset, call);
}

void orchestrator_topic_datasets(struct topic_call *call)
{
    call->collected = json_array();
    request_next(call, 0);
}
