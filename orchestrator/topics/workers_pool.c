/* workers_set: a person says how many; and the pool as JSON: bounds, what is wanted, and who is in which state since
 * when, and why. */
#include "orchestrator/topics/workers_pool.h"

#include "orchestrator/values/json_object.h"

static json_t *member_json(const struct pool_member *member)
{
    char name[POOL_NAME_SIZE];
    orchestrator_pool_name(member, name);
    return JSON_FIELDS(JSON_TEXT("worker", name),
                       JSON_TEXT("place", ORCHESTRATOR_POOL_PLACES[member->place]),
                       JSON_TEXT("launcher", member->launcher),
                       JSON_TEXT("state", ORCHESTRATOR_POOL_STATES[member->state]),
                       JSON_TIME("since", member->since_us),
                       JSON_TEXT_OR_NULL("why", member->why[0] != '\0' ? member->why : NULL));
}

json_t *orchestrator_topic_pool_json(const struct topics *topics)
{
    if (topics->pool == NULL)
        return json_null();
    const struct pool_shown shown = orchestrator_pool_shown(topics->pool);
    const struct pool_standing *standing = shown.standing;
    json_t *members = json_array();
    for (size_t i = 0; i < shown.members->count; i++)
        json_array_append_new(members, member_json(&shown.members->at[i]));
    return JSON_FIELDS(JSON_NUMBER("min", shown.bounds->min), JSON_NUMBER("max", shown.bounds->max),
                       JSON_NUMBER("host_max", shown.bounds->host_max),
                       JSON_NEW("set", standing->wanted == POOL_AUTO
                                           ? json_null()
                                           : json_integer(standing->wanted)),
                       JSON_NUMBER("target", standing->targets[POOL_PLACE_POOL]),
                       JSON_NUMBER("host_target", standing->targets[POOL_PLACE_HOST]),
                       JSON_NEW("members", members));
}

void orchestrator_topic_workers_set(struct topic_call *call)
{
    struct weir_error err;
    int64_t workers = orchestrator_topic_number(call, "workers", POOL_AUTO);
    if (call->all->pool == NULL)
        topic_fail(call, WEIR_UNSUPPORTED, "this platform starts no workers");
    else if (json_object_get(call->arguments, "workers") == NULL || workers < POOL_AUTO)
        topic_fail(call, WEIR_INVALID,
                   "workers: expected a number, or null: as many as are needed");
    else if (orchestrator_pool_set(call->all->pool, workers, &err) != WEIR_OK)
        orchestrator_topic_refuse(call, &err);
    else
        orchestrator_topic_answer(call, orchestrator_topic_pool_json(call->all));
}
