/* Arguments that several topics share: an interval of time, a model of a pipeline, and a page of a list. */
#include "core/base/clock.h"
#include "core/base/memory.h"
#include "orchestrator/models/store.h"
#include "orchestrator/pipeline/pipeline.h"
#include "orchestrator/topics/topic.h"

#include <string.h>

static enum weir_status read_time(const struct topic_call *call, const char *key, int64_t fallback,
                                  int64_t *ret_time, struct weir_error *err)
{
    const char *text = orchestrator_topic_text(call, key, NULL);
    *ret_time = fallback;
    if (text != NULL && !weir_time_parse(text, strlen(text), ret_time)) {
        return weir_fail(err, WEIR_INVALID, "%s: expected a time such as 2002-12-01, found '%.40s'",
                         key, text);
    }
    return WEIR_OK;
}

enum weir_status orchestrator_topic_interval(const struct topic_call *call, int64_t *ret_from,
                                             int64_t *ret_to, struct weir_error *err)
{
    enum weir_status status = read_time(call, "from", INT64_MIN + 1, ret_from, err);
    return status == WEIR_OK ? read_time(call, "to", INT64_MAX, ret_to, err) : status;
}

struct topic_page orchestrator_topic_page(const struct weir_rows *rows, size_t most)
{
    size_t count = weir_rows_count(rows);
    return (struct topic_page){count > most ? most : count, count > most};
}

enum weir_status orchestrator_topic_choose_model(const struct topic_call *call,
                                                 const struct pipeline *pipeline, char **ret_model,
                                                 struct weir_error *err)
{
    WEIR_AUTO(weir_rows) rows = NULL;
    const char *asked = orchestrator_topic_text(call, "model", NULL);
    if (asked != NULL) {
        struct stored_model model = {0};
        enum weir_status status = orchestrator_model_get(call->context, asked, &model, err);
        if (status == WEIR_OK && !orchestrator_model_is_live(&model)) {
            status = weir_fail(err, WEIR_NOT_FOUND, "model %s is %s: its files are gone", asked,
                               model.state);
        }
        orchestrator_model_fini(&model);
        if (status == WEIR_OK)
            *ret_model = weir_strdup(asked);
        return status;
    }
    enum weir_status status = DB_RUN(call->context->db, Q_model_active, &rows, err,
                                     DB_I64(orchestrator_pipeline_id(pipeline)));
    if (status == WEIR_OK && weir_rows_text(rows, 0, "model")[0] == '\0') {
        status = weir_fail(err, WEIR_NOT_FOUND, "pipeline %s has no model yet",
                           orchestrator_pipeline_config(pipeline)->name);
    }
    if (status == WEIR_OK)
        *ret_model = weir_strdup(weir_rows_text(rows, 0, "model"));
    return status;
}
