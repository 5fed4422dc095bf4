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
    return JSON_FIELDS(
        JSON_TEXT("pipeline", sets->pipelines.at[i]),
        JSON_NEW("trigger",
                 of_trigger ? json_integer((json_int_t)sets->triggers.at[i]) : json_null()),
        JSON_TEXT("digest", sets->digests.at[i]), JSON_NUMBER("samples", sets->samples.at[i]),
        JSON_NUMBER("bytes", sets->bytes.at[i]), JSON_TEXT("policy", sets->policies.at[i]),
        JSON_NUMBER("seed", sets->seeds.at[i]), JSON_TIME("sealed", sets->sealed_us.at[i]),
        JSON_NEW("expires", stays ? json_null() : orchestrator_json_time(sets->expires_us.at[i])),
        JSON_TEXT("kept", of_trigger ? "models and erasures need it" : "it may be asked for again"),
        JSON_TEXT_IF_ANY("shares", sets->shares.at[i][0] == '\0' ? NULL : sets->shares.at[i]));
}

static bool is_seen(const struct topic_call *call, const char *name)
{
    const struct pipeline *pipeline = orchestrator_pipeline_by_name(call->all->pipelines, name);
    return call->sender.tenant[0] == '\0' ||
           (pipeline != NULL && orchestrator_topic_sees(call, pipeline));
}

static json_t *pools_json(const struct topic_call *call, const struct msg_sets_are *sets)
{
    json_t *pools = json_array();
    for (size_t i = 0; i < sets->pools.count; i++)
        if (is_seen(call, sets->pools.at[i]))
            json_array_append_new(pools, JSON_FIELDS(JSON_TEXT("pipeline", sets->pools.at[i]),
                                                     JSON_NUMBER("bytes", sets->pool_bytes.at[i])));
    return pools;
}

static json_t *choosing_json(const struct topic_call *call, const struct msg_sets_are *sets)
{
    json_t *choices = json_array();
    for (size_t i = 0; i < sets->choosing.count; i++) {
        uint64_t trigger = sets->choosing_triggers.at[i], total = sets->choosing_total.at[i];
        if (!is_seen(call, sets->choosing.at[i]))
            continue;
        double share = total > 0 ? (double)sets->choosing_done.at[i] / (double)total : 0;
        json_array_append_new(
            choices, JSON_FIELDS(JSON_TEXT("pipeline", sets->choosing.at[i]),
                                 JSON_NEW("trigger", trigger > 0 ? json_integer((json_int_t)trigger)
                                                                 : json_null()),
                                 JSON_DOUBLE("done", share)));
    }
    return choices;
}

static void on_sets(void *owner, const struct weir_reply *reply, const struct weir_error *err)
{
    struct topic_call *call = owner;
    if (reply == NULL) {
        orchestrator_topic_refuse(call, err);
        return;
    }
    const struct msg_sets_are *sets = reply->message;
    if (!is_whole(sets)) {
        topic_fail(call, WEIR_INTERNAL, "the selector sent no good list of sets");
        return;
    }
    json_t *list = json_array();
    for (size_t i = 0; i < sets->digests.count; i++)
        if (is_seen(call, sets->pipelines.at[i]))
            json_array_append_new(list, set_json(sets, i));
    orchestrator_topic_answer(
        call, JSON_FIELDS(JSON_NEW("sets", list), JSON_NUMBER("total", sets->total),
                          JSON_NUMBER("files", sets->files), JSON_NUMBER("bytes", sets->file_bytes),
                          JSON_NEW("pools", pools_json(call, sets)),
                          JSON_NEW("choosing", choosing_json(call, sets))));
}

void orchestrator_topic_sets(struct topic_call *call)
{
    const struct msg_sets_request asked = {.pipeline =
                                               orchestrator_topic_text(call, "pipeline", "")};
    if (asked.pipeline[0] != '\0' && orchestrator_topic_pipeline(call) == NULL)
        return;
    weir_rpc_call(call->context->selector, MSG_sets_request, &asked, ORCHESTRATOR_REQUEST_MS,
                  on_sets, call);
}
