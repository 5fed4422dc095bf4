/* sets: which sample sets are sealed, what they take and why they are kept; what the candidates take in memory;
 * what is being chosen now. */
#include "orchestrator/context/events.h"
#include "orchestrator/topics/topic.h"

static bool is_whole(const struct msg_sets_are *sets)
{
    size_t count = sets->digests.count;
    return sets->pipelines.count == count && sets->triggers.count == count &&
           sets->samples.count == count && sets->bytes.count == count &&
           sets->policies.count == count && sets->seeds.count == count &&
           sets->sealed_us.count == count && sets->shares.count == count &&
           sets->expires_us.count == count && sets->pools.count == sets->pool_bytes.count &&
           sets->choosing_triggers.count == sets->choosing.count &&
           sets->choosing_done.count == sets->choosing.count &&
           sets->choosing_total.count == sets->choosing.count;
}

static json_t *set_json(const struct msg_sets_are *sets, size_t i)
{
    bool stays = sets->expires_us.at[i] == 0;
    bool of_trigger = sets->triggers.at[i] > 0;
    return json_pack(
        "{ss,so,ss,sI,sI,ss,sI,so,so,ss,ss*}", "pipeline", sets->pipelines.at[i], "trigger",
        of_trigger ? json_integer((json_int_t)sets->triggers.at[i]) : json_null(), "digest",
        sets->digests.at[i], "samples", (json_int_t)sets->samples.at[i], "bytes",
        (json_int_t)sets->bytes.at[i], "policy", sets->policies.at[i], "seed",
        (json_int_t)sets->seeds.at[i], "sealed", orchestrator_json_time(sets->sealed_us.at[i]),
        "expires", stays ? json_null() : orchestrator_json_time(sets->expires_us.at[i]), "kept",
        of_trigger ? "models and erasures need it" : "it may be asked for again", "shares",
        sets->shares.at[i][0] == '\0' ? NULL : sets->shares.at[i]);
}

static json_t *pools_json(const struct msg_sets_are *sets)
{
    json_t *pools = json_array();
    for (size_t i = 0; i < sets->pools.count; i++)
        json_array_append_new(pools, json_pack("{ss,sI}", "pipeline", sets->pools.at[i], "bytes",
                                               (json_int_t)sets->pool_bytes.at[i]));
    return pools;
}

static json_t *choosing_json(const struct msg_sets_are *sets)
{
    json_t *choices = json_array();
    for (size_t i = 0; i < sets->choosing.count; i++) {
        uint64_t trigger = sets->choosing_triggers.at[i], total = sets->choosing_total.at[i];
        double share = total > 0 ? (double)sets->choosing_done.at[i] / (double)total : 0;
        json_array_append_new(
            choices, json_pack("{ss,so,sf}", "pipeline", sets->choosing.at[i], "trigger",
                               trigger > 0 ? json_integer((json_int_t)trigger) : json_null(),
                               "done", share));
    }
    return choices;
}

static void on_sets(void *owner, const struct weir_reply *reply, const struct weir_error *err)
{
    struct topic_call *call = owner;
    if (reply == NULL) {
        topic_refuse(call, err);
        return;
    }
    const struct msg_sets_are *sets = reply->message;
    if (!is_whole(sets)) {
        topic_fail(call, WEIR_INTERNAL, "the selector sent no good list of sets");
        return;
    }
    json_t *list = json_array();
    for (size_t i = 0; i < sets->digests.count; i++)
        json_array_append_new(list, set_json(sets, i));
    topic_answer(call,
                 json_pack("{so,sI,sI,sI,so,so}", "sets", list, "total", (json_int_t)sets->total,
                           "files", (json_int_t)sets->files, "bytes", (json_int_t)sets->file_bytes,
                           "pools", pools_json(sets), "choosing", choosing_json(sets)));
}

void topic_sets(struct topic_call *call)
{
    const struct msg_sets_ask asked = {.pipeline = topic_text(call, "pipeline", "")};
    if (asked.pipeline[0] != '\0' && topic_pipeline(call) == NULL)
        return;
    weir_rpc_call(call->context->selector, MSG_sets_ask, &asked, ORCHESTRATOR_ASK_MS, on_sets,
                  call);
}
