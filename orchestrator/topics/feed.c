/* feed_list, feed_forget: who reads the change feed of a dataset, what is kept for whom, and an end to it. */
#include "orchestrator/context/events.h"
#include "orchestrator/topics/topic.h"

/* Number of changes that the feed keeps for this consumer alone: up to where the next slowest is. */
static uint64_t kept_for(const struct msg_feed_readers *readers, size_t one)
{
    uint64_t passed = readers->passed.at[one], next = readers->head;
    for (size_t i = 0; i < readers->passed.count; i++)
        if (i != one && readers->passed.at[i] < next)
            next = readers->passed.at[i];
    return next > passed ? next - passed : 0;
}

static bool is_whole(const struct msg_feed_readers *readers)
{
    size_t count = readers->consumers.count;
    return readers->passed.count == count && readers->seen_us.count == count &&
           readers->expires_us.count == count;
}

static json_t *consumers_json(const struct msg_feed_readers *readers)
{
    json_t *consumers = json_array();
    for (size_t i = 0; is_whole(readers) && i < readers->consumers.count; i++) {
        uint64_t passed = readers->passed.at[i];
        json_array_append_new(
            consumers,
            JSON_FIELDS(
                JSON_TEXT("consumer", readers->consumers.at[i]), JSON_NUMBER("passed", passed),
                JSON_NUMBER("behind", (readers->head > passed ? readers->head - passed : 0)),
                JSON_NUMBER("keeps", kept_for(readers, i)),
                JSON_TIME("seen", readers->seen_us.at[i]),
                JSON_TIME("expires", readers->expires_us.at[i])));
    }
    return consumers;
}

static void on_readers(void *owner, const struct weir_reply *reply, const struct weir_error *err)
{
    struct topic_call *call = owner;
    if (reply == NULL) {
        orchestrator_topic_refuse(call, err);
        return;
    }
    const struct msg_feed_readers *readers = reply->message;
    orchestrator_topic_answer(
        call,
        JSON_FIELDS(JSON_TEXT("dataset", orchestrator_topic_text(call, "dataset", "")),
                    JSON_NUMBER("newest", readers->head), JSON_NUMBER("oldest", readers->floor + 1),
                    JSON_NEW("consumers", consumers_json(readers))));
}

void orchestrator_topic_feed_list(struct topic_call *call)
{
    const struct msg_feed_request request = {.dataset =
                                                 orchestrator_topic_text(call, "dataset", "")};
    weir_rpc_call(call->context->storage, MSG_feed_request, &request, ORCHESTRATOR_REQUEST_MS,
                  on_readers, call);
}

static void on_ended(void *owner, const struct weir_reply *reply, const struct weir_error *err)
{
    struct topic_call *call = owner;
    const struct msg_feed_ended *ended = reply == NULL ? NULL : reply->message;
    if (ended == NULL) {
        orchestrator_topic_refuse(call, err);
        return;
    }
    if (ended->consumers == 0) {
        topic_fail(call, WEIR_NOT_FOUND,
                   "dataset '%.80s' has no consumer '%.200s': weir feed list shows them",
                   orchestrator_topic_text(call, "dataset", ""),
                   orchestrator_topic_text(call, "consumer", ""));
        return;
    }
    orchestrator_topic_answer(
        call, JSON_FIELDS(JSON_TEXT("dataset", orchestrator_topic_text(call, "dataset", "")),
                          JSON_TEXT("forgotten", orchestrator_topic_text(call, "consumer", ""))));
}

void orchestrator_topic_feed_forget(struct topic_call *call)
{
    const struct msg_feed_end end = {.consumer = orchestrator_topic_text(call, "consumer", ""),
                                     .dataset = orchestrator_topic_text(call, "dataset", "")};
    if (end.dataset[0] != '\0') {
        weir_rpc_call(call->context->storage, MSG_feed_end, &end, ORCHESTRATOR_REQUEST_MS, on_ended,
                      call);
        return;
    }
    topic_fail(call, WEIR_INVALID, "feed_forget: expected a dataset");
}
