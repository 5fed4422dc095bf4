/* Names by which an erasure calls its samples, and erase_plan: what it would concern, asked of storage and of lineage.
 * Clear subjects and keys pass through this process's memory on their way to storage, and nowhere else. */
#include "core/base/memory.h"
#include "orchestrator/erasures/cached.h"
#include "orchestrator/models/lineage.h"
#include "orchestrator/topics/topic.h"

#include <stdlib.h>

enum { NAMES_MAX = 65536, IDS_MAX = 100000 };

/* ---- names ---- */

static const char **texts_of(const json_t *arguments, const char *key, size_t *ret_count)
{
    const json_t *list = json_object_get(arguments, key);
    size_t count = json_array_size(list);
    const char **texts = weir_calloc(count + 1, sizeof(*texts));
    for (size_t i = 0; i < count; i++) {
        const char *text = json_string_value(json_array_get(list, i));
        texts[i] = text == NULL ? "" : text;
    }
    *ret_count = count;
    return texts;
}

static uint64_t *ids_of(const json_t *arguments, size_t *ret_count)
{
    const json_t *list = json_object_get(arguments, "ids");
    size_t count = json_array_size(list);
    uint64_t *ids = weir_calloc(count + 1, sizeof(*ids));
    for (size_t i = 0; i < count; i++)
        ids[i] = (uint64_t)json_integer_value(json_array_get(list, i));
    *ret_count = count;
    return ids;
}

void orchestrator_topic_names_fini(struct topic_names *names)
{
    free(names->subjects);
    free(names->keys);
    free(names->ids);
}

enum weir_status orchestrator_topic_names_read(const json_t *arguments,
                                               struct topic_names *ret_names,
                                               struct weir_error *err)
{
    struct topic_names names = {0};
    names.subjects = texts_of(arguments, "subjects", &names.subject_count);
    names.keys = texts_of(arguments, "keys", &names.key_count);
    names.ids = ids_of(arguments, &names.id_count);
    size_t count = names.subject_count + names.key_count;
    bool is_enough = json_is_true(json_object_get(arguments, "drop_refused"));
    if ((is_enough || count + names.id_count > 0) && count <= NAMES_MAX &&
        names.id_count <= IDS_MAX) {
        *ret_names = names;
        return WEIR_OK;
    }
    orchestrator_topic_names_fini(&names);
    return weir_fail(err, WEIR_INVALID, "erase: expected 1 to %d subjects and keys, or 1 to %d ids",
                     NAMES_MAX, IDS_MAX);
}

/* ---- erase_plan ---- */

static void on_found(void *owner, const struct weir_reply *reply, const struct weir_error *err)
{
    struct topic_call *call = owner;
    struct weir_error problem;
    struct id_blocks ids = {0};
    json_t *json = NULL;
    int64_t cached = 0;
    if (reply == NULL) {
        orchestrator_topic_refuse(call, err);
        return;
    }
    const struct msg_found *found = reply->message;
    orchestrator_id_blocks_add(&ids, found->ids.at, found->ids.count);
    enum weir_status status = orchestrator_cached_count(call->context, &ids, &cached, &problem);
    if (status == WEIR_OK)
        status = orchestrator_topic_lineage_json(call, &ids, &json, &problem);
    orchestrator_id_blocks_fini(&ids);
    if (status != WEIR_OK) {
        orchestrator_topic_refuse(call, &problem);
        return;
    }
    json_object_set_new(json, "bytes", json_integer((json_int_t)found->bytes));
    json_object_set_new(json, "cached", json_integer(cached));
    orchestrator_topic_answer(call, json);
}

void orchestrator_topic_erase_plan(struct topic_call *call)
{
    struct weir_error err;
    struct topic_names names;
    if (orchestrator_topic_number(call, "erasure", 0) != 0) { /* it has been asked for already */
        orchestrator_topic_lineage(call);
        return;
    }
    if (orchestrator_topic_names_read(call->arguments, &names, &err) != WEIR_OK) {
        orchestrator_topic_refuse(call, &err);
        return;
    }
    const struct msg_find find = {
        .dataset = orchestrator_topic_text(call, "dataset", ""),
        .subjects = {names.subjects, names.subject_count},
        .keys = {names.keys, names.key_count},
        .ids = {names.ids, names.id_count},
    };
    weir_rpc_call(call->context->storage, MSG_find, &find, ORCHESTRATOR_REQUEST_MS, on_found, call);
    orchestrator_topic_names_fini(&names);
}
