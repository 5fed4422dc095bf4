/* The table of topics, and a request's way from its message to its answer. */
#include "orchestrator/topics/topic.h"

#include "core/base/memory.h"
#include "orchestrator/pipeline/pipeline.h"

#include <stdlib.h>
#include <string.h>

static const struct topic {
    const char *name;
    topic_fn *fn;
} TOPICS[] = {
    {"status", orchestrator_topic_status},
    {"datasets", orchestrator_topic_datasets},
    {"dataset_remove", orchestrator_topic_dataset_remove},
    {"models", orchestrator_topic_models},
    {"model_promote", orchestrator_topic_model_promote},
    {"model_rollback", orchestrator_topic_model_rollback},
    {"model_export", orchestrator_topic_model_export},
    {"model_diff", orchestrator_topic_model_diff},
    {"model", orchestrator_topic_model},
    {"lineage", orchestrator_topic_lineage},
    {"erase_request", orchestrator_topic_erase_request},
    {"erase_requests", orchestrator_topic_erase_requests},
    {"erase_plan", orchestrator_topic_erase_plan},
    {"erase_status", orchestrator_topic_erase_status},
    {"erase_list", orchestrator_topic_erase_list},
    {"erase_receipt", orchestrator_topic_erase_receipt},
    {"erase_verify", orchestrator_topic_erase_verify},
    {"erase_key", orchestrator_topic_erase_key},
    {"predict", orchestrator_topic_predict},
    {"predict_open", orchestrator_topic_predict_open},
    {"predict_rows", orchestrator_topic_predict_rows},
    {"evaluate", orchestrator_topic_evaluate},
    {"select", orchestrator_topic_select},
    {"report", orchestrator_topic_report},
    {"events", orchestrator_topic_events},
    {"output", orchestrator_topic_output},
    {"submit", orchestrator_topic_submit},
    {"apply", orchestrator_topic_apply},
    {"list", orchestrator_topic_list},
    {"standing", orchestrator_topic_standing},
    {"pause", orchestrator_topic_pause},
    {"stop", orchestrator_topic_stop},
    {"resume", orchestrator_topic_resume},
    {"remove", orchestrator_topic_remove},
    {"rerun", orchestrator_topic_rerun},
    {"push", orchestrator_topic_push},
    {"doctor", orchestrator_topic_doctor},
    {"feed_list", orchestrator_topic_feed_list},
    {"feed_forget", orchestrator_topic_feed_forget},
    {"sets", orchestrator_topic_sets},
    {"materialize", orchestrator_topic_materialize},
    {"exports", orchestrator_topic_exports},
    {"exports_drop", orchestrator_topic_exports_drop},
    {"workers", orchestrator_topic_workers},
    {"workers_set", orchestrator_topic_workers_set},
    {"plan", orchestrator_topic_plan},
    {"cache", orchestrator_topic_cache},
    {"cache_drop", orchestrator_topic_cache_drop},
};

static void drop(struct topic_call *call)
{
    LIST_REMOVE(call, link);
    json_decref(call->arguments);
    json_decref(call->collected);
    free(call->text);
    free(call);
}

void orchestrator_topic_answer(struct topic_call *call, json_t *json)
{
    char *text = json_dumps(json, JSON_COMPACT | JSON_PRESERVE_ORDER | JSON_REAL_PRECISION(15));
    if (text == NULL) {
        json_decref(json);
        topic_fail(call, WEIR_INTERNAL, "the answer holds a value that JSON cannot hold");
        return;
    }
    struct msg_answer answer = {.json = text};
    weir_rpc_reply(call->all->server, &call->route, MSG_answer, &answer, NULL);
    free(text);
    json_decref(json);
    drop(call);
}

void orchestrator_topic_refuse(struct topic_call *call, const struct weir_error *err)
{
    weir_rpc_refuse(call->all->server, &call->route, err);
    drop(call);
}

void orchestrator_topics_free(struct topics *topics)
{
    while (!LIST_EMPTY(&topics->calls)) {
        struct topic_call *call = LIST_FIRST(&topics->calls);
        if (call->forget != NULL)
            call->forget(call);
        weir_rpc_forget(topics->context->storage, call);
        weir_rpc_forget(topics->context->selector, call);
        weir_rpc_forget(topics->context->dispatcher, call);
        drop(call);
    }
}

const char *orchestrator_topic_text(const struct topic_call *call, const char *key,
                                    const char *fallback)
{
    const char *text = json_string_value(json_object_get(call->arguments, key));
    return text == NULL ? fallback : text;
}

bool orchestrator_topic_flag(const struct topic_call *call, const char *key)
{
    return json_is_true(json_object_get(call->arguments, key));
}

int64_t orchestrator_topic_number(const struct topic_call *call, const char *key, int64_t fallback)
{
    const json_t *value = json_object_get(call->arguments, key);
    return json_is_integer(value) ? (int64_t)json_integer_value(value) : fallback;
}

static struct pipeline *newest_pipeline(const struct topics *topics)
{
    struct pipeline *pipeline = topics->pipelines->first;
    while (pipeline != NULL && orchestrator_pipeline_state(pipeline) == PIPELINE_REMOVED)
        pipeline = orchestrator_pipeline_next(pipeline);
    return pipeline;
}

struct pipeline *orchestrator_topic_pipeline(struct topic_call *call)
{
    const char *name = orchestrator_topic_text(call, "pipeline", "");
    struct pipeline *pipeline = name[0] == '\0'
                                    ? newest_pipeline(call->all)
                                    : orchestrator_pipeline_by_name(call->all->pipelines, name);
    if (pipeline != NULL)
        return pipeline;
    if (name[0] == '\0')
        topic_fail(call, WEIR_NOT_FOUND, "no pipeline has run on this data directory yet");
    else
        topic_fail(call, WEIR_NOT_FOUND, "pipeline %s: there is none; see weir status", name);
    return NULL;
}

struct pipeline *orchestrator_topic_models_of(struct topic_call *call)
{
    struct pipeline *pipeline = orchestrator_topic_pipeline(call);

    if (pipeline == NULL || !orchestrator_erasures_claim(call->all->erasures))
        return pipeline;
    topic_fail(call, WEIR_UNAVAILABLE, "an erasure is replacing models");
    return NULL;
}

/* Requests come again until they are answered; a topic that takes its time is not begun twice. */
static bool is_under_way(const struct topics *topics, const struct weir_route *route)
{
    const struct topic_call *call;

    LIST_FOREACH (call, &topics->calls, link)
        if (call->route.request == route->request &&
            call->route.identity_size == route->identity_size &&
            memcmp(call->route.identity, route->identity, route->identity_size) == 0)
            return true;
    return false;
}

void orchestrator_topics_answer(struct topics *topics, struct weir_request *request)
{
    const struct msg_command *message = request->message;
    struct weir_error err;
    if (is_under_way(topics, &request->route))
        return;
    json_t *arguments = json_loads(message->arguments[0] == '\0' ? "{}" : message->arguments,
                                   JSON_REJECT_DUPLICATES, NULL);
    if (!json_is_object(arguments)) {
        json_decref(arguments);
        weir_ignore(weir_fail(&err, WEIR_INVALID, "ask.arguments: expected a JSON object"));
        weir_rpc_refuse(request->server, &request->route, &err);
        return;
    }
    struct topic_call *call = weir_calloc(1, sizeof(*call));
    call->all = topics;
    call->context = topics->context;
    call->route = request->route;
    call->arguments = arguments;
    LIST_INSERT_HEAD(&topics->calls, call, link);
    for (size_t i = 0; i < WEIR_COUNT(TOPICS); i++) {
        if (strcmp(TOPICS[i].name, message->topic) == 0) {
            TOPICS[i].fn(call);
            return;
        }
    }
    topic_fail(call, WEIR_UNSUPPORTED, "unknown topic '%.40s'", message->topic);
}
