/* MEASURING: the trigger policy wants to know more of samples before it decides. They are sealed as a set, a run goes
 * over them, and the policy is told what it found. The policy, its request and the cursor are in the pipeline's row
 * since the edge that led here, so whoever begins again asks for the same. */
#include "core/base/memory.h"
#include "orchestrator/pipeline/deciding.h"
#include "orchestrator/pipeline/decisions.h"
#include "orchestrator/pipeline/probe.h"
#include "orchestrator/pipeline/training.h"

#include <inttypes.h>

/* ---- the run ---- */

static void on_run(void *owner, const struct run_result *run, const struct weir_error *err)
{
    struct pipeline *pipeline = owner;
    if (run == NULL) {
        orchestrator_pipeline_trouble(pipeline, err->status, err);
        return;
    }
    orchestrator_pipeline_decide(pipeline, run);
}

static enum weir_status start_run(struct pipeline *pipeline, const struct msg_selected *selected,
                                  struct weir_error *err)
{
    const struct probe *probe = pipeline->reader->probe;
    WEIR_AUTO_FREE char *purpose = weir_format("probe/%" PRId64, pipeline->checks + 1);
    const struct run_wanted run = {
        .pipeline = orchestrator_pipeline_outline(pipeline),
        .purpose = purpose,
        .mode = orchestrator_trigger_subject_mode(probe->request.subject),
        .trigger = pipeline->newest.number + 1,
        .set_digest = selected->digest,
        .set_path = selected->path,
        .epochs = 1,
        .seed = pipeline->config->seed,
        .base_model = probe->model,
    };
    return orchestrator_run_start(pipeline->all->runs, &run, on_run, pipeline, err);
}

static void on_sealed(void *owner, const struct weir_reply *reply, const struct weir_error *err)
{
    struct pipeline *pipeline = owner;
    struct weir_error problem;
    if (reply == NULL) {
        orchestrator_pipeline_hindered(pipeline, err->status, err);
        return;
    }
    enum weir_status status = start_run(pipeline, reply->message, &problem);
    if (status != WEIR_OK)
        orchestrator_pipeline_trouble(pipeline, status, &problem);
}

/* ---- the windows ---- */

static enum weir_status find_request(struct pipeline *pipeline, struct weir_error *err)
{
    struct trigger_request request = {0};
    enum weir_status status = orchestrator_pipeline_load(pipeline, err);
    if (status != WEIR_OK)
        return status;
    orchestrator_pipeline_reader_free(pipeline->reader);
    pipeline->reader = orchestrator_pipeline_reader_new(pipeline, err);
    if (pipeline->reader == NULL)
        return err->status;
    if (orchestrator_trigger_is_due(pipeline->reader->policy))
        orchestrator_trigger_request(pipeline->reader->policy, &request);
    if (request.subject == TRIGGER_NOTHING || request.current.count == 0) {
        return weir_fail(err, WEIR_INTERNAL,
                         "pipeline %s: the trigger policy wants nothing measured",
                         pipeline->config->name);
    }
    return orchestrator_pipeline_probe_new(pipeline, &request, &pipeline->reader->probe, err);
}

static void seal_windows(struct pipeline *pipeline)
{
    const struct probe *probe = pipeline->reader->probe;
    pipeline->reader->deciding = NULL;
    const struct msg_window_seal seal = {
        .pipeline = pipeline->config->name,
        .ids = {probe->ids, probe->count},
    };
    weir_rpc_call(pipeline->context->selector, MSG_window_seal, &seal, ORCHESTRATOR_REQUEST_MS,
                  on_sealed, pipeline);
}

void orchestrator_pipeline_measure(struct pipeline *pipeline)
{
    struct weir_error err;
    enum weir_status status = find_request(pipeline, &err);
    struct reader *reader = pipeline->reader;
    if (status == WEIR_OK)
        reader->deciding = orchestrator_deciding_recall(pipeline, reader->probe, seal_windows);
    else
        orchestrator_pipeline_trouble(pipeline, status, &err);
}
