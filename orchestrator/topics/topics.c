/* The table of topics, and a request's way from its message to its answer. */
#include "orchestrator/topics/topic.h"

#include "core/base/memory.h"
#include "orchestrator/pipeline/pipeline.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static topic_fn *const FNS[] = {
#define TOPIC(name, roles, kind, scope) orchestrator_topic_##name,
#include "orchestrator/topics/access.def"
#undef TOPIC
};

static void drop(struct topic_call *call)
{
    LIST_REMOVE(call, link);
    weir_quota_give(&call->all->quota, call->key, call->places);
    json_decref(call->arguments);
    json_decref(call->collected);
    free(call->text);
    free(call);
}

/* Consumes the call, which was asked from within this process, and `json`. */
static void hand_over(struct topic_call *call, json_t *json, const struct weir_error *err)
{
    topic_answered_fn *answered = call->answered;
    void *owner = call->owner;
    drop(call);
    answered(owner, json, err);
    json_decref(json);
}

void orchestrator_topic_answer(struct topic_call *call, json_t *json)
{
    if (call->answered != NULL) {
        hand_over(call, json, NULL);
        return;
    }
    char *text = json_dumps(json, JSON_COMPACT | JSON_PRESERVE_ORDER | JSON_REAL_PRECISION(15));
    if (text == NULL) {
        json_decref(json);
        topic_fail(call, WEIR_INTERNAL, "the answer holds a value that JSON cannot hold");
        return;
    }
    struct msg_answer answer = {.json = text};
    if (call->order != 0)
        orchestrator_audit_end(call->all->audit, call->order, WEIR_OK, json);
    weir_rpc_reply(call->all->server, &call->route, MSG_answer, &answer, NULL);
    free(text);
    json_decref(json);
    drop(call);
}

/* An order that is UNAVAILABLE is asked again, and has not ended. */
static void end_refused(struct topic_call *call, enum weir_status status)
{
    if (call->order == 0)
        return;
    if (status == WEIR_UNAVAILABLE)
        orchestrator_topic_order_waits(&call->all->orders,
                                       &(struct topic_order){call->route, call->key, call->order});
    else
        orchestrator_audit_end(call->all->audit, call->order, status, NULL);
}

void orchestrator_topic_refuse(struct topic_call *call, const struct weir_error *err)
{
    if (call->answered != NULL) {
        hand_over(call, NULL, err);
        return;
    }
    end_refused(call, err->status);
    weir_rpc_refuse(call->all->server, &call->route, err);
    drop(call);
}

/* Drops a call that is not answered. */
static void forget(struct topic_call *call)
{
    const struct context *context = call->context;
    if (call->forget != NULL)
        call->forget(call);
    weir_loop_cancel(context->loop, call->timer);
    weir_rpc_forget(context->storage, call);
    weir_rpc_forget(context->selector, call);
    weir_rpc_forget(context->dispatcher, call);
    drop(call);
}

void orchestrator_topics_free(struct topics *topics)
{
    while (!LIST_EMPTY(&topics->calls))
        forget(LIST_FIRST(&topics->calls));
    weir_quota_fini(&topics->quota);
}

void orchestrator_topics_forget(struct topics *topics, const void *owner)
{
    struct topic_call *call = LIST_FIRST(&topics->calls);
    while (call != NULL) {
        struct topic_call *next = LIST_NEXT(call, link);
        if (call->answered != NULL && call->owner == owner)
            forget(call);
        call = next;
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

static struct pipeline *newest_pipeline(const struct topic_call *call)
{
    struct pipeline *pipeline = call->all->pipelines->first;
    while (pipeline != NULL && (orchestrator_pipeline_state(pipeline) == PIPELINE_REMOVED ||
                                !orchestrator_topic_sees(call, pipeline)))
        pipeline = orchestrator_pipeline_next(pipeline);
    return pipeline;
}

struct pipeline *orchestrator_topic_pipeline(struct topic_call *call)
{
    const char *name = orchestrator_topic_text(call, "pipeline", "");
    struct pipeline *pipeline = name[0] == '\0'
                                    ? newest_pipeline(call)
                                    : orchestrator_pipeline_by_name(call->all->pipelines, name);
    if (pipeline != NULL && orchestrator_topic_sees(call, pipeline))
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
        if (call->answered == NULL && weir_route_is_of_request(&call->route, route))
            return true;
    return false;
}

/* DENIED, with a record, unless the sender may ask this of what the arguments name. */
static enum weir_status admit(const struct topic_call *call, struct weir_error *err)
{
    const struct topic_sender *sender = &call->sender;
    const struct weir_sender of = {sender->role, sender->who, sender->tenant};
    enum weir_status status = orchestrator_topic_check(call->access, &of, err);
    if (status == WEIR_OK)
        status = orchestrator_topic_check_tenant(call, err);
    if (status == WEIR_DENIED)
        orchestrator_audit_refuse(call->all->audit, sender->who, weir_role_name(sender->role),
                                  call->access->name);
    return status;
}

static enum weir_status begin_order(struct topic_call *call, struct weir_error *err)
{
    const struct audit_order order = {call->sender.who, weir_role_name(call->sender.role),
                                      call->access->name, call->arguments};
    if (!call->access->is_order || orchestrator_topic_flag(call, "dry_run"))
        return WEIR_OK;
    call->order = orchestrator_topic_order_again(&call->all->orders, &call->route);
    return call->order != 0 ? WEIR_OK
                            : orchestrator_audit_begin(call->all->audit, &order, &call->order, err);
}

static void run(struct topic_call *call)
{
    struct weir_error err;
    enum weir_status status = admit(call, &err);
    if (status == WEIR_OK)
        status = begin_order(call, &err);
    if (status == WEIR_OK)
        FNS[call->access - orchestrator_topic_at(0)](call);
    else
        orchestrator_topic_refuse(call, &err);
}

/* The key of a request, and the places that it takes. */
struct asker {
    uint64_t key;
    size_t places;
};

static struct topic_call *new_call(struct topics *topics, const struct topic_access *access,
                                   json_t *arguments, const struct asker *asker)
{
    struct topic_call *call = weir_calloc(1, sizeof(*call));
    call->all = topics;
    call->context = topics->context;
    call->access = access;
    call->arguments = arguments;
    call->key = asker->key;
    call->places = asker->places;
    weir_quota_take(&topics->quota, call->key, call->places);
    LIST_INSERT_HEAD(&topics->calls, call, link);
    return call;
}

/* Begins the call that the message asks for. */
static enum weir_status open_call(struct topics *topics, const struct weir_request *request,
                                  struct topic_call **ret_call, struct weir_error *err)
{
    const struct msg_command *message = request->message;
    const struct topic_access *access = orchestrator_topic_named(message->topic);
    const struct asker asker = {weir_rpc_quota_key(request),
                                1 + strlen(message->arguments) / TOPIC_CALL_BYTES};
    if (access == NULL)
        return weir_fail(err, WEIR_UNSUPPORTED, "unknown topic '%.40s'", message->topic);
    if (!weir_quota_allows(&topics->quota, asker.key, asker.places, TOPIC_CALLS_MAX))
        return weir_fail(err, WEIR_UNAVAILABLE,
                         "as many requests are under way as can be, of %d, beside what one key "
                         "leaves to others",
                         TOPIC_CALLS_MAX);
    json_t *arguments = json_loads(message->arguments[0] == '\0' ? "{}" : message->arguments,
                                   JSON_REJECT_DUPLICATES, NULL);
    if (!json_is_object(arguments)) {
        json_decref(arguments);
        return weir_fail(err, WEIR_INVALID, "ask.arguments: expected a JSON object");
    }
    *ret_call = new_call(topics, access, arguments, &asker);
    return WEIR_OK;
}

void orchestrator_topics_answer(struct topics *topics, struct weir_request *request)
{
    struct topic_call *call;
    struct weir_error err;
    if (is_under_way(topics, &request->route))
        return;
    if (open_call(topics, request, &call, &err) != WEIR_OK) {
        weir_rpc_refuse(request->server, &request->route, &err);
        return;
    }
    call->route = request->route;
    call->sender = orchestrator_topic_sender(request);
    run(call);
}

void orchestrator_topics_ask(struct topics *topics, const struct topic_request *request,
                             topic_answered_fn *answered, void *owner)
{
    const struct topic_access *access = orchestrator_topic_named(request->topic);
    weir_require(access != NULL && !access->is_order);
    struct topic_call *call = new_call(topics, access, request->arguments, &(struct asker){0, 1});
    call->answered = answered;
    call->owner = owner;
    call->sender = (struct topic_sender){.role = WEIR_ROLE_VIEWER, .who = "page"};
    (void)snprintf(call->sender.tenant, sizeof(call->sender.tenant), "%s", request->tenant);
    run(call);
}
