/* erase_requests: many erasures in one request, each with a number and a receipt of its own. They go to storage one
 * after the other without waiting, and are answered together once each is durable or refused. */
#include "core/base/memory.h"
#include "orchestrator/erasures/erasure.h"
#include "orchestrator/topics/topic.h"
#include "orchestrator/values/json_object.h"

#include <stdlib.h>

enum { REQUESTS_MAX = 1000 };

struct one_request {
    struct erase_requests *of;
    int64_t number, matched; /* 0: refused */
    const char *reference;   /* the call's */
    char *error;             /* NULL: none */
};

struct erase_requests {
    struct topic_call *call;
    size_t pending, count;
    struct one_request at[];
};

static void free_requests(struct erase_requests *requests)
{
    for (size_t i = 0; i < requests->count; i++)
        free(requests->at[i].error);
    free(requests);
}

static void forget(struct topic_call *call)
{
    struct erase_requests *requests = call->requests;
    for (size_t i = 0; i < requests->count; i++)
        weir_rpc_forget(call->context->storage, &requests->at[i]);
    free_requests(requests);
}

static void one_is_done(struct one_request *one, const struct weir_error *err)
{
    struct erase_requests *requests = one->of;
    if (err != NULL)
        one->error = weir_strdup(err->text);
    if (--requests->pending > 0)
        return;
    json_t *erasures = json_array();
    for (size_t i = 0; i < requests->count; i++) {
        const struct one_request *at = &requests->at[i];
        json_array_append_new(erasures, at->error == NULL
                                            ? JSON_FIELDS(JSON_NUMBER("erasure", at->number),
                                                          JSON_NUMBER("matched", at->matched))
                                            : JSON_FIELDS(JSON_TEXT("error", at->error)));
    }
    struct topic_call *call = requests->call;
    free_requests(requests);
    orchestrator_topic_answer(call, JSON_FIELDS(JSON_NEW("erasures", erasures)));
}

static void on_noted(void *owner, const struct weir_error *err)
{
    one_is_done(owner, err);
}

static void on_accepted(void *owner, const struct weir_reply *reply, const struct weir_error *err)
{
    struct one_request *one = owner;
    struct topic_call *call = one->of->call;
    if (reply == NULL) {
        orchestrator_erasures_doubt(call->all->erasures);
        one_is_done(one, err);
        return;
    }
    const struct msg_erase_accepted *accepted = reply->message;
    one->number = (int64_t)accepted->erasure;
    one->matched = (int64_t)accepted->matched;
    const struct erasure_names names = {.number = one->number,
                                        .dataset = orchestrator_topic_text(call, "dataset", ""),
                                        .reference = one->reference};
    orchestrator_erasure_note(call->all->erasures, &names, on_noted, one);
}

static const char *text_of(const json_t *object, const char *key)
{
    const char *text = json_string_value(json_object_get(object, key));
    return text == NULL ? "" : text;
}

static void send_one(struct one_request *one, const json_t *request)
{
    struct topic_call *call = one->of->call;
    struct topic_names names;
    struct weir_error err;
    if (text_of(request, "uuid")[0] == '\0') {
        weir_ignore(weir_fail(&err, WEIR_INVALID, "erase: expected a uuid"));
        one_is_done(one, &err);
        return;
    }
    if (orchestrator_topic_names_read(request, &names, &err) != WEIR_OK) {
        one_is_done(one, &err);
        return;
    }
    one->reference = text_of(request, "reference");
    const struct msg_erase_accept accept = {
        .uuid = text_of(request, "uuid"),
        .dataset = orchestrator_topic_text(call, "dataset", ""),
        .subjects = {names.subjects, names.subject_count},
        .ids = {names.ids, names.id_count},
        .reference = one->reference,
        .keys = {names.keys, names.key_count},
        .expects_match = !orchestrator_topic_flag(call, "allow_none"),
    };
    weir_rpc_call(call->context->storage, MSG_erase_accept, &accept, ORCHESTRATOR_REQUEST_MS,
                  on_accepted, one);
    orchestrator_topic_names_fini(&names);
}

void orchestrator_topic_erase_requests(struct topic_call *call)
{
    const json_t *list = json_object_get(call->arguments, "requests");
    size_t count = json_array_size(list);
    if (count == 0 || count > REQUESTS_MAX) {
        topic_fail(call, WEIR_INVALID, "erase: found %zu requests, expected 1 to %d", count,
                   REQUESTS_MAX);
        return;
    }
    struct erase_requests *requests =
        weir_calloc(1, sizeof(*requests) + count * sizeof(requests->at[0]));
    requests->call = call;
    requests->count = count;
    requests->pending = count + 1; /* one is this function */
    call->requests = requests;
    call->forget = forget;
    for (size_t i = 0; i < count; i++)
        requests->at[i].of = requests;
    for (size_t i = 0; i < count; i++)
        send_one(&requests->at[i], json_array_get(list, i));
    if (--requests->pending == 0) {
        requests->pending = 1;
        one_is_done(&requests->at[0], NULL);
    }
}
