/* Names of classes, which storage alone knows: those that came with samples are stored nowhere else. */
#include "orchestrator/topics/classes.h"

#include "core/base/memory.h"
#include "orchestrator/values/json_object.h"

#include <stdlib.h>
#include <string.h>

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
    const struct msg_dataset_request request = {.name = dataset};
    call->collected = json;
    weir_rpc_call(call->context->storage, MSG_dataset_request, &request, ORCHESTRATOR_REQUEST_MS,
                  on_dataset, call);
}

/* ---- metrics of a class ---- */

/* Number of the class that a slice ends in, `[label=3]`; -1: it is of none. */
static int64_t number_of(const char *slice)
{
    char *end = NULL;
    int64_t number = strtoll(slice, &end, 10);
    return end != slice && strcmp(end, "]") == 0 ? number : -1;
}

/* "accuracy(by=label)[label=3]": the name takes the place of the number. True: it is such a metric. */
static bool name_metric(json_t *object, const struct weir_strs *classes)
{
    static const char SLICE[] = "[label=";
    const char *metric = json_string_value(json_object_get(object, "metric"));
    const char *slice = metric != NULL ? strstr(metric, SLICE) : NULL;
    int64_t number = slice != NULL ? number_of(slice + strlen(SLICE)) : -1;
    if (number >= 0 && (uint64_t)number < classes->count) {
        int before = (int)(slice - metric + (ptrdiff_t)strlen(SLICE));
        WEIR_AUTO_FREE char *named = weir_format("%.*s%s]", before, metric, classes->at[number]);
        json_object_set_new(object, "metric", json_string(named));
    }
    return number >= 0;
}

/* Names the classes in `value` and all inside it. Returns how many there are. */
static size_t name_classes(json_t *value, const struct weir_strs *classes)
{
    size_t found = 0, index;
    const char *key;
    json_t *inner;
    json_array_foreach(value, index, inner) found += name_classes(inner, classes);
    json_object_foreach(value, key, inner) found += name_classes(inner, classes);
    return found + name_metric(value, classes);
}

static void on_names(void *owner, const struct weir_reply *reply, const struct weir_error *err)
{
    struct topic_call *call = owner;
    const struct msg_dataset_is *dataset = reply != NULL ? reply->message : NULL;
    (void)err;                                    /* without storage they keep their numbers */
    if (dataset != NULL && dataset->classes_grow) /* those of a list were named when it was kept */
        (void)name_classes(call->collected, &dataset->classes);
    orchestrator_topic_answer(call, json_incref(call->collected));
}

void orchestrator_topic_answer_naming_classes(struct topic_call *call, const char *dataset,
                                              json_t *json)
{
    const struct msg_dataset_request request = {.name = dataset};
    if (name_classes(json, &(struct weir_strs){0}) == 0) {
        orchestrator_topic_answer(call, json);
        return;
    }
    json_decref(call->collected);
    call->collected = json;
    weir_rpc_call(call->context->storage, MSG_dataset_request, &request, ORCHESTRATOR_REQUEST_MS,
                  on_names, call);
}
