/* cache, cache_drop: rows that workers keep of samples, in DATA_DIR/cache. What is there is read from the folder; what
 * came of it, the dispatcher knows. */
#include "core/wire/cache_segment.h"
#include "orchestrator/context/events.h"
#include "orchestrator/topics/topic.h"

#define NS_PER_SECOND 1e9

static json_t *time_or_null(int64_t time_us)
{
    return time_us == 0 ? json_null() : orchestrator_json_time(time_us);
}

static double each(int64_t ns, uint64_t rows)
{
    return rows > 0 ? (double)ns / (double)rows : 0;
}

/* ---- by key ---- */

static bool is_whole(const struct msg_cache_is *uses)
{
    size_t count = uses->keys.count;
    return uses->operators.count == count && uses->hits.count == count &&
           uses->misses.count == count && uses->damaged.count == count &&
           uses->made_ns.count == count && uses->read_ns.count == count &&
           uses->since_us.count == count;
}

static const struct weir_cache_kind *find_kind(const struct weir_cache_survey *survey, uint64_t key)
{
    static const struct weir_cache_kind NONE = {0};
    for (size_t i = 0; i < survey->kind_count; i++) {
        if (survey->kinds[i].key == key)
            return &survey->kinds[i];
    }
    return &NONE;
}

static json_t *use_json(const struct msg_cache_is *uses, size_t i,
                        const struct weir_cache_kind *kind)
{
    uint64_t hits = uses->hits.at[i];
    double made_ns = each(uses->made_ns.at[i], uses->misses.at[i]);
    double saved_ns = made_ns * (double)hits - (double)uses->read_ns.at[i];
    return JSON_FIELDS(JSON_TEXT("operators", uses->operators.at[i]),
                       JSON_NUMBER("rows", kind->rows), JSON_NUMBER("bytes", kind->bytes),
                       JSON_NUMBER("hits", hits), JSON_NUMBER("misses", uses->misses.at[i]),
                       JSON_NUMBER("damaged", uses->damaged.at[i]),
                       JSON_DOUBLE("making_ns", made_ns),
                       JSON_DOUBLE("reading_ns", each(uses->read_ns.at[i], hits)),
                       JSON_DOUBLE("saved_seconds", saved_ns / NS_PER_SECOND),
                       JSON_NEW("since", time_or_null(uses->since_us.at[i])),
                       JSON_NEW("last_use", time_or_null(kind->newest_use_us)));
}

/* Rows of a key that no job of this platform has used: the folder came from elsewhere, or the jobs are forgotten. */
static json_t *unused_json(const struct weir_cache_kind *kind)
{
    return JSON_FIELDS(JSON_NEW("operators", json_null()), JSON_NUMBER("rows", kind->rows),
                       JSON_NUMBER("bytes", kind->bytes), JSON_NUMBER("hits", 0),
                       JSON_NUMBER("misses", 0), JSON_NUMBER("damaged", 0),
                       JSON_DOUBLE("making_ns", 0.0), JSON_DOUBLE("reading_ns", 0.0),
                       JSON_DOUBLE("saved_seconds", 0.0), JSON_NEW("since", json_null()),
                       JSON_NEW("last_use", time_or_null(kind->newest_use_us)));
}

static json_t *kinds_json(const struct weir_cache_survey *survey, const struct msg_cache_is *uses)
{
    json_t *kinds = json_array();
    for (size_t i = 0; i < uses->keys.count; i++)
        json_array_append_new(kinds, use_json(uses, i, find_kind(survey, uses->keys.at[i])));
    for (size_t k = 0; k < survey->kind_count; k++) {
        size_t i = 0;
        while (i < uses->keys.count && uses->keys.at[i] != survey->kinds[k].key)
            i++;
        if (i == uses->keys.count)
            json_array_append_new(kinds, unused_json(&survey->kinds[k]));
    }
    return kinds;
}

/* ---- the topics ---- */

static void answer(struct topic_call *call, const struct weir_cache_survey *survey,
                   const struct msg_cache_is *uses)
{
    orchestrator_topic_answer(
        call,
        JSON_FIELDS(JSON_NUMBER("rows", survey->rows), JSON_NUMBER("bytes", survey->bytes),
                    JSON_NUMBER("segments", survey->segments),
                    JSON_NUMBER("damaged", survey->damaged), JSON_NUMBER("drafts", survey->drafts),
                    JSON_NEW("oldest_use", time_or_null(survey->oldest_use_us)),
                    JSON_NEW("newest_use", time_or_null(survey->newest_use_us)),
                    JSON_NEW("kept", kinds_json(survey, uses))));
}

static void on_uses(void *owner, const struct weir_reply *reply, const struct weir_error *err)
{
    struct topic_call *call = owner;
    struct weir_error problem;
    struct weir_cache_survey survey = {0};
    if (reply == NULL)
        orchestrator_topic_refuse(call, err);
    else if (!is_whole(reply->message))
        topic_fail(call, WEIR_INTERNAL, "the dispatcher sent columns of unequal length");
    else if (weir_cache_survey(call->context->data_dir, &survey, &problem) != WEIR_OK)
        orchestrator_topic_refuse(call, &problem);
    else
        answer(call, &survey, reply->message);
    weir_cache_survey_fini(&survey);
}

void orchestrator_topic_cache(struct topic_call *call)
{
    weir_rpc_call(call->context->dispatcher, MSG_cache_request, NULL, ORCHESTRATOR_REQUEST_MS,
                  on_uses, call);
}

void orchestrator_topic_cache_drop(struct topic_call *call)
{
    struct weir_error err;
    uint64_t files;
    if (weir_cache_drop(call->context->data_dir, &files, &err) != WEIR_OK)
        orchestrator_topic_refuse(call, &err);
    else
        orchestrator_topic_answer(call, JSON_FIELDS(JSON_NUMBER("files", files)));
}
