/* SCANNING: storage takes stock for the first time. When every dataset is through, a replay fixes the change sequence
 * after which it sees nothing but erasures (C3); a pipeline that is resumed keeps the one it has. */
#include "orchestrator/pipeline/pipeline_state.h"

#include "core/base/memory.h"
#include "orchestrator/context/events.h"

#include <inttypes.h>

static void request_next(struct pipeline *pipeline);

static enum weir_status tell_stock(struct pipeline *pipeline, const struct msg_dataset_is *dataset,
                                   struct weir_error *err)
{
    WEIR_AUTO_FREE char *key = weir_format("dataset_scanned/%s", dataset->name);
    json_t *complaints = json_array();
    for (size_t i = 0; i < dataset->complaints.count; i++)
        json_array_append_new(complaints, json_string(dataset->complaints.at[i]));
    return orchestrator_event_put(
        pipeline->context, &(struct event_about){pipeline->id, 0, key, "dataset_scanned"},
        JSON_FIELDS(JSON_TEXT("pipeline", pipeline->config->name),
                    JSON_TEXT("dataset", dataset->name), JSON_NUMBER("samples", dataset->live),
                    JSON_NUMBER("quarantined", dataset->quarantined),
                    JSON_NUMBER("duplicate", dataset->duplicate),
                    JSON_NUMBER("blocked", dataset->blocked), JSON_NEW("complaints", complaints)),
        err);
}

static enum weir_status note_position(void *subject, const void *what, struct weir_error *err)
{
    struct pipeline *pipeline = subject;
    const struct msg_dataset_is *dataset = what;
    uint64_t *position = &pipeline->positions[pipeline->asking];
    if (*position == 0 && pipeline->config->mode == MODE_REPLAY)
        *position = dataset->sequence;
    enum weir_status status =
        DB_RUN(pipeline->context->db, Q_dataset_fix, NULL, err, DB_I64(pipeline->id),
               DB_I64(pipeline->asking), DB_I64(*position));
    return status == WEIR_OK ? tell_stock(pipeline, dataset, err) : status;
}

/* Refuses a dataset of whose records more were refused than `on_error` bears. */
static enum weir_status check_refused(const struct pipeline *pipeline,
                                      const struct msg_dataset_is *dataset, struct weir_error *err)
{
    const struct cfg_on_error *on_error = &pipeline->config->on_error;
    double records = (double)(dataset->live + dataset->quarantined);
    if (dataset->quarantined == 0 || (double)dataset->quarantined <= on_error->share * records)
        return WEIR_OK;
    WEIR_AUTO_BUF limit = {0};
    cfg_on_error_print(on_error, &limit);
    return weir_fail(err, WEIR_INVALID,
                     "dataset %s: %" PRIu64 " of %.0f records were refused, more than "
                     "preprocess.on_error: %s bears; the newest: %.250s",
                     dataset->name, dataset->quarantined, records, weir_buf_text(&limit),
                     dataset->complaints.count > 0 ? dataset->complaints.at[0] : "(no reason)");
}

/* Refuses a replay of nothing: a live pipeline waits for samples. */
static enum weir_status check_found(const struct pipeline *pipeline, struct weir_error *err)
{
    if (pipeline->has_samples || pipeline->config->mode == MODE_LIVE)
        return WEIR_OK;
    return weir_fail(err, WEIR_NOT_FOUND,
                     "dataset %s%s: found no sample: see its source.path, source.include and "
                     "source.format",
                     pipeline->config->datasets[0],
                     pipeline->dataset_count > 1 ? " and the others" : "");
}

static void on_dataset(void *owner, const struct weir_reply *reply, const struct weir_error *err)
{
    struct pipeline *pipeline = owner;
    struct weir_error problem;
    if (reply == NULL) {
        orchestrator_pipeline_trouble(pipeline, err->status, err);
        return;
    }
    const struct msg_dataset_is *dataset = reply->message;
    if (!dataset->scanned) {
        orchestrator_pipeline_begin_after(pipeline, ORCHESTRATOR_POLL_MS);
        return;
    }
    enum weir_status status =
        orchestrator_commit(pipeline->context, note_position, pipeline, dataset, &problem);
    if (status == WEIR_OK)
        status = check_refused(pipeline, dataset, &problem);
    if (status != WEIR_OK) {
        orchestrator_pipeline_trouble(pipeline, status, &problem);
        return;
    }
    pipeline->has_samples |= dataset->sequence > 0;
    pipeline->asking++;
    request_next(pipeline);
}

static void request_next(struct pipeline *pipeline)
{
    struct weir_error err;
    if (pipeline->asking == pipeline->dataset_count) {
        enum weir_status status = check_found(pipeline, &err);
        if (status != WEIR_OK) {
            orchestrator_pipeline_trouble(pipeline, status, &err);
            return;
        }
        orchestrator_pipeline_advance(pipeline, PIPELINE_ON_SCANNED, NULL, NULL);
        return;
    }
    struct msg_dataset_request request = {.name = pipeline->config->datasets[pipeline->asking]};
    weir_rpc_call(pipeline->context->storage, MSG_dataset_request, &request,
                  ORCHESTRATOR_REQUEST_MS, on_dataset, pipeline);
}

void orchestrator_pipeline_scan(struct pipeline *pipeline)
{
    struct weir_error err;
    enum weir_status status = orchestrator_pipeline_load(
        pipeline, &err); /* positions of an earlier run, if it is resumed */
    if (status != WEIR_OK) {
        orchestrator_pipeline_trouble(pipeline, status, &err);
        return;
    }
    pipeline->asking = 0;
    pipeline->has_samples = false;
    request_next(pipeline);
}
