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
            consumers, json_pack("{ss,sI,sI,sI,so,so}", "consumer", readers->consumers.at[i],
                                 "passed", (json_int_t)passed, "behind",
                                 (json_int_t)(readers->head > passed ? readers->head - passed : 0),
                                 "keeps", (json_int_t)kept_for(readers, i), "seen",
                                 orchestrator_json_time(readers->seen_us.at[i]), "expires",
                                 orchestrator_json_time(readers->expires_us.at[i])));
    }
    return consumers;
}

static void on_readers(void *owner, const struct weir_reply *reply, const struct weir_error *err)
{
    struct topic_call *call = owner;
    if (reply == NULL) {
        topic_refuse(call, err);
        return;
    }
    const struct msg_feed_readers *readers = reply->message;
    topic_answer(call,
                 json_pack("{ss,sI,sI,so}", "dataset", topic_text(call, "dataset", ""), "newest",
                           (json_int_t)readers->head, "oldest", (json_int_t)readers->floor + 1,
                           "consumers", consumers_json(readers)));
}

void topic_feed_list(struct topic_call *call)
{
    const struct msg_feed_ask ask = {.dataset = topic_text(call, "dataset", "")};
    weir_rpc_call(call->context->storage, MSG_feed_ask, &ask, ORCHESTRATOR_ASK_MS, on_readers,
                  call);
}

static void on_ended(void *owner, const struct weir_reply *reply, const struct weir_error *err)
{
    struct topic_call *call = owner;
    const struct msg_feed_ended *ended = reply == NULL ? NULL : reply->message;
    if (ended == NULL) {
        topic_refuse(call, err);
        return;
    }
    if (ended->consumers == 0) {
        topic_fail(call, WEIR_NOT_FOUND,
                   "dataset '%.80s' has no consumer '%.200s': weir feed list shows them",
                   topic_text(call, "dataset", ""), topic_text(call, "consumer", ""));
        return;
    }
    topic_answer(call, json_pack("{ss,ss}", "dataset", topic_text(call, "dataset", ""), "forgotten",
                                 topic_text(call, "consumer", "")));
}

void topic_feed_forget(struct topic_call *call)
{
    const struct msg_feed_end end = {.consumer = topic_text(call, "consumer", ""),
                                     .dataset = topic_text(call, "dataset", "")};
    if (end.dataset[0] != '\0') {
        weir_rpc_call(call->context->storage, MSG_feed_end, &end, ORCHESTRATOR_ASK_MS, on_ended,
                      call);
        return;
    }
    topic_fail(call, WEIR_INVALID, "feed_forget: expected a dataset");
}
