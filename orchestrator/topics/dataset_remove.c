/* dataset_remove: a dataset that nothing depends on goes, with all that the store has of it. Whatever depends on it is
 * said by name. While storage removes it no pipeline that names it is taken in. */
#include "orchestrator/context/events.h"
#include "orchestrator/topics/topic.h"

#include "core/base/memory.h"
#include "core/wire/sample.h"

#include <string.h>

enum { NAMES_SHOWN = 3 };

/* ---- what depends on it ---- */

static void add_name(struct weir_buf *list, size_t number, const char *name)
{
    if (number < NAMES_SHOWN)
        weir_buf_printf(list, "%s%s", number == 0 ? "" : ", ", name);
}

static void add_reason(struct weir_buf *reasons, const char *one, const char *many, size_t count,
                       struct weir_buf *names)
{
    if (count == 0)
        return;
    weir_buf_printf(reasons, "%s%s %s", reasons->size > 0 ? "; " : "", count == 1 ? one : many,
                    weir_buf_text(names));
    if (count > NAMES_SHOWN)
        weir_buf_printf(reasons, " and %zu more", count - NAMES_SHOWN);
}

static void find_pipelines(const struct pipelines *pipelines, const char *dataset,
                           struct weir_buf *reasons)
{
    WEIR_AUTO_BUF names = {0};
    size_t count = 0;
    for (const struct pipeline *at = pipelines->first; at != NULL;
         at = orchestrator_pipeline_next(at)) {
        const struct orchestrator_config *config = orchestrator_pipeline_config(at);
        if (orchestrator_pipeline_state(at) != PIPELINE_REMOVED &&
            orchestrator_config_names(config, dataset))
            add_name(&names, count++, config->name);
    }
    add_reason(reasons, "pipeline", "pipelines", count, &names);
}

static void add_rows(struct weir_buf *reasons, const char *one, const char *many,
                     const struct weir_rows *rows)
{
    WEIR_AUTO_BUF names = {0};
    for (size_t i = 0; i < weir_rows_count(rows); i++)
        add_name(&names, i, weir_rows_text(rows, i, "name"));
    add_reason(reasons, one, many, weir_rows_count(rows), &names);
}

static enum weir_status find_rows(const struct topic_call *call,
                                  const struct msg_dataset_is *dataset, struct weir_buf *reasons,
                                  struct weir_error *err)
{
    WEIR_AUTO(weir_rows) models = NULL;
    WEIR_AUTO(weir_rows) erasures = NULL;
    struct weir_db *db = call->context->db;
    enum weir_status status =
        DB_RUN(db, Q_models_of_dataset, &models, err, DB_I64(dataset->dataset << WEIR_BLOCK_BITS),
               DB_I64((dataset->dataset + 1) << WEIR_BLOCK_BITS));
    if (status == WEIR_OK)
        status = DB_RUN(db, Q_erasures_of_dataset, &erasures, err, DB_TEXT(dataset->name));
    if (status != WEIR_OK)
        return status;
    add_rows(reasons, "model", "models", models);
    add_rows(reasons, "open erasure", "open erasures", erasures);
    return WEIR_OK;
}

static enum weir_status check_free(const struct topic_call *call,
                                   const struct msg_dataset_is *dataset, struct weir_error *err)
{
    WEIR_AUTO_BUF reasons = {0};
    find_pipelines(call->all->pipelines, dataset->name, &reasons);
    enum weir_status status = find_rows(call, dataset, &reasons, err);
    if (status != WEIR_OK || reasons.size == 0)
        return status;
    return weir_fail(
        err, WEIR_UNSUPPORTED,
        "dataset '%s' cannot be removed: it is used by %s: weir remove PIPELINE drops a "
        "pipeline and the models that no other pipeline needs, open erasures end by "
        "themselves (weir erase list)",
        dataset->name, weir_buf_text(&reasons));
}

/* ---- its way ---- */

static void on_removed(void *owner, const struct weir_reply *reply, const struct weir_error *err)
{
    struct topic_call *call = owner;
    call->all->pipelines->dataset_going = NULL;
    if (reply == NULL) {
        orchestrator_topic_refuse(call, err);
        return;
    }
    orchestrator_topic_answer(call, json_incref(call->collected));
}

static void remove_it(struct topic_call *call, const struct msg_dataset_is *dataset)
{
    const struct msg_dataset_remove request = {.dataset = dataset->dataset};
    call->text = weir_strdup(dataset->name);
    call->collected = JSON_FIELDS(
        JSON_TEXT("dataset", dataset->name), JSON_NUMBER("number", dataset->dataset),
        JSON_NUMBER("ingested", dataset->ingested), JSON_NUMBER("bytes", dataset->bytes));
    call->all->pipelines->dataset_going = call->text;
    weir_rpc_call(call->context->storage, MSG_dataset_remove, &request, ORCHESTRATOR_REQUEST_MS,
                  on_removed, call);
}

static void on_found(void *owner, const struct weir_reply *reply, const struct weir_error *err)
{
    struct topic_call *call = owner;
    const struct msg_dataset_is *dataset = reply == NULL ? NULL : reply->message;
    struct weir_error refusal;
    if (dataset == NULL)
        orchestrator_topic_refuse(call, err);
    else if (dataset->dataset == 0)
        topic_fail(call, WEIR_NOT_FOUND,
                   "dataset '%.80s': there is none: weir datasets lists those there are",
                   orchestrator_topic_text(call, "dataset", ""));
    else if (call->all->pipelines->dataset_going != NULL)
        topic_fail(call, WEIR_UNAVAILABLE, "dataset '%.80s' is being removed",
                   call->all->pipelines->dataset_going);
    else if (check_free(call, dataset, &refusal) != WEIR_OK)
        orchestrator_topic_refuse(call, &refusal);
    else
        remove_it(call, dataset);
}

void orchestrator_topic_dataset_remove(struct topic_call *call)
{
    const struct msg_dataset_request request = {.name =
                                                    orchestrator_topic_text(call, "dataset", "")};
    if (request.name[0] == '\0') {
        topic_fail(call, WEIR_INVALID, "dataset_remove: expected a dataset");
        return;
    }
    weir_rpc_call(call->context->storage, MSG_dataset_request, &request, ORCHESTRATOR_REQUEST_MS,
                  on_found, call);
}
