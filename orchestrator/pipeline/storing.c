/* STORING: the trained model gets its name, its place and its row; unless it has to be compared
 * with the active one, it is that from then on. What its training reported of the samples is the
 * selector's before that. */
#include "core/base/clock.h"
#include "core/base/log.h"
#include "core/base/memory.h"
#include "orchestrator/judging/promotion.h"
#include "orchestrator/models/store.h"
#include "orchestrator/pipeline/decisions.h"
#include "orchestrator/pipeline/timeline.h"
#include "orchestrator/pipeline/training.h"

#include <stdlib.h>

struct stored {
    struct model_wanted wanted;
    struct model_files files;
};

static enum weir_status effect_stored(struct pipeline *pipeline, const void *what,
                                      struct weir_error *err)
{
    const struct stored *stored = what;
    struct pipelines *all = pipeline->all;
    struct model_wanted wanted = stored->wanted;
    WEIR_AUTO(weir_rows) times = NULL;
    enum weir_status status =
        DB_RUN(all->context->db, Q_trigger_stored, &times, err, DB_I64(pipeline->id),
               DB_I64(pipeline->newest.number), DB_I64(weir_now_wall_us()));
    if (status != WEIR_OK)
        return status;
    wanted.timeline = orchestrator_pipeline_timeline_json(times, 0);
    status = orchestrator_model_add(all->context, &wanted, &stored->files, err);
    json_decref(wanted.timeline);
    if (status == WEIR_OK)
        status = orchestrator_promotion_stored(
            all->context, orchestrator_pipeline_outline(pipeline), wanted.id, err);
    return status == WEIR_OK ? orchestrator_pipeline_tell_trained(pipeline, wanted.run, err)
                             : status;
}

static void store(struct pipeline *pipeline, const struct run_result *run)
{
    struct weir_error problem;
    WEIR_AUTO_FREE char *id = orchestrator_pipeline_model_name(pipeline, pipeline->newest.number);
    struct stored stored = {.wanted = {.id = id,
                                       .run = run,
                                       .state = "stored",
                                       .until_time = pipeline->newest.until_time,
                                       .settings = &pipeline->config->models}};
    enum weir_status status =
        orchestrator_model_place(pipeline->context, &stored.wanted, &stored.files, &problem);
    if (status != WEIR_OK) {
        orchestrator_pipeline_trouble(pipeline, status, &problem);
        return;
    }
    if (orchestrator_pipeline_advance(pipeline, PIPELINE_ON_STORED, effect_stored, &stored) &&
        orchestrator_run_remove_files(pipeline->context, run->number, &problem) != WEIR_OK)
        weir_log(WEIR_LOG_WARN, "files of a finished run stay", "%s", problem.text);
    orchestrator_model_files_fini(&stored.files);
}

/* ---- what the training reported ---- */

static void on_noted_run(void *owner, const struct run_result *run, const struct weir_error *err)
{
    struct pipeline *pipeline = owner;
    if (run == NULL)
        orchestrator_pipeline_trouble(pipeline, err->status, err);
    else
        store(pipeline, run);
}

static void on_noted(void *owner, const struct weir_reply *reply, const struct weir_error *err)
{
    struct pipeline *pipeline = owner;
    struct weir_error problem;
    enum weir_status status = reply == NULL ? err->status : WEIR_OK;
    if (status == WEIR_OK)
        status = orchestrator_pipeline_run_newest(pipeline, on_noted_run, &problem);
    if (status != WEIR_OK)
        orchestrator_pipeline_trouble(pipeline, status, reply == NULL ? err : &problem);
}

static void hand_over(struct pipeline *pipeline, const struct run_result *run)
{
    WEIR_AUTO_FREE char *id = orchestrator_pipeline_model_name(pipeline, pipeline->newest.number);
    WEIR_AUTO_FREE char *outputs = weir_format("%s/%s", run->directory, run->outputs_file);
    const struct msg_scores_take take = {
        .pipeline = pipeline->config->name,
        .mode = "score",
        .model = id,
        .digest = run->set_digest,
        .outputs = outputs,
        .partial = true,
    };
    weir_rpc_call(pipeline->context->selector, MSG_scores_take, &take, ORCHESTRATOR_REQUEST_MS,
                  on_noted, pipeline);
}

static void on_run(void *owner, const struct run_result *run, const struct weir_error *err)
{
    struct pipeline *pipeline = owner;
    if (run == NULL)
        orchestrator_pipeline_trouble(pipeline, err->status, err);
    else if (run->outputs_file[0] != '\0')
        hand_over(pipeline, run);
    else
        store(pipeline, run);
}

void orchestrator_pipeline_store(struct pipeline *pipeline)
{
    struct weir_error err;
    enum weir_status status = orchestrator_pipeline_run_newest(pipeline, on_run, &err);
    if (status != WEIR_OK)
        orchestrator_pipeline_trouble(pipeline, status, &err);
}
