/* Evaluations that have measured nothing: see unmeasured.h. */
#include "orchestrator/judging/unmeasured.h"

#include "core/base/memory.h"
#include "orchestrator/context/events.h"

#include <inttypes.h>

enum { INTERVALS_TOLD = 20 };

static enum weir_status tell(void *subject, const void *what, struct weir_error *err)
{
    struct context *context = subject;
    const struct evaluation_result *empty = what;
    const struct evaluation_task *task = empty->task;
    const struct orchestrator_config *config = empty->pipeline->config;
    const char *name = config->evaluations[task->evaluation].name;
    WEIR_AUTO_FREE char *key = weir_format("evaluation_empty/%s/%" PRId64 "/%" PRId64, name,
                                           task->from_time, task->to_time);
    return orchestrator_event_put(
        context, &(struct event_about){empty->pipeline->id, 0, key, "evaluation_empty"},
        JSON_FIELDS(JSON_TEXT("pipeline", config->name), JSON_TEXT("name", name),
                    JSON_TEXT("dataset", orchestrator_evaluation_dataset(config, task->evaluation)),
                    JSON_NEW("interval", JSON_FIELDS(JSON_TIME("from", task->from_time),
                                                     JSON_TIME("to", task->to_time)))),
        err);
}

enum weir_status orchestrator_unmeasured_tell(struct context *context,
                                              const struct evaluation_result *empty,
                                              struct weir_error *err)
{
    return orchestrator_commit(context, tell, context, empty, err);
}

enum weir_status orchestrator_unmeasured_names(struct context *context, int64_t pipeline,
                                               const struct orchestrator_config *config,
                                               json_t **ret_names, struct weir_error *err)
{
    WEIR_AUTO_BUF names = {0};
    WEIR_AUTO(weir_rows) rows = NULL;
    for (size_t i = 0; i < config->evaluation_count; i++)
        if (config->evaluations[i].when != WHEN_ON_DEMAND)
            weir_buf_printf(&names, "%s%s", names.size > 0 ? "\n" : "",
                            config->evaluations[i].name);
    enum weir_status status = DB_RUN(context->db, Q_evaluation_unmeasured, &rows, err,
                                     DB_I64(pipeline), DB_TEXT(weir_buf_text(&names)));
    if (status != WEIR_OK)
        return status;
    *ret_names = json_array();
    for (size_t i = 0; i < weir_rows_count(rows); i++)
        json_array_append_new(*ret_names, json_string(weir_rows_text(rows, i, "name")));
    return WEIR_OK;
}

enum weir_status orchestrator_unmeasured_intervals(struct context *context, int64_t pipeline,
                                                   json_t **ret_intervals, int64_t *ret_count,
                                                   struct weir_error *err)
{
    WEIR_AUTO(weir_rows) rows = NULL;
    enum weir_status status = DB_RUN(context->db, Q_evaluation_empty, &rows, err, DB_I64(pipeline),
                                     DB_I64(INTERVALS_TOLD));
    if (status != WEIR_OK)
        return status;
    *ret_intervals = json_array();
    *ret_count = weir_rows_count(rows) > 0 ? weir_rows_i64(rows, 0, "total") : 0;
    for (size_t i = 0; i < weir_rows_count(rows); i++) {
        json_t *event = orchestrator_json_of(weir_rows_text(rows, i, "json"));
        json_object_del(event, "event");
        json_object_del(event, "pipeline");
        json_array_append_new(*ret_intervals, event);
    }
    return WEIR_OK;
}
