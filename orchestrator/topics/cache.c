/* cache, cache_drop: rows that workers keep of samples, in DATA_DIR/cache. */
#include "core/wire/cache_segment.h"
#include "orchestrator/context/events.h"
#include "orchestrator/topics/topic.h"

static json_t *time_or_null(int64_t time_us)
{
    return time_us == 0 ? json_null() : orchestrator_json_time(time_us);
}

void orchestrator_topic_cache(struct topic_call *call)
{
    struct weir_error err;
    struct weir_cache_survey survey;
    if (weir_cache_survey(call->context->data_dir, &survey, &err) != WEIR_OK) {
        orchestrator_topic_refuse(call, &err);
        return;
    }
    orchestrator_topic_answer(
        call,
        JSON_FIELDS(JSON_NUMBER("rows", survey.rows), JSON_NUMBER("bytes", survey.bytes),
                    JSON_NUMBER("segments", survey.segments),
                    JSON_NUMBER("damaged", survey.damaged), JSON_NUMBER("drafts", survey.drafts),
                    JSON_NEW("oldest_use", time_or_null(survey.oldest_use_us)),
                    JSON_NEW("newest_use", time_or_null(survey.newest_use_us))));
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
