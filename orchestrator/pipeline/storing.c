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
    struct weir_rows *const *rows = pipeline->rows.of;
    int64_t now_us = weir_now_wall_us();
    enum weir_status status =
        DB_RUN(all->context->db, Q_trigger_stored, NULL, err, DB_I64(pipeline->id),
               DB_I64(pipeline->newest.number), DB_I64(now_us));
    if (status != WEIR_OK)
        return status;
    wanted.timeline = orchestrator_pipeline_timeline_json(rows[ROW_TRIGGER], 0, now_us);
    status = orchestrator_model_add(all->context, &wanted, &stored->files, err);
    json_decref(wanted.timeline);
    if (status == WEIR_OK)
        status = orchestrator_promotion_stored(
            all->context, orchestrator_pipeline_outline(pipeline),
            weir_rows_text(rows[ROW_PIPELINE], 0, "active_model"), wanted.id, err);
    if (status == WEIR_OK)
        status = orchestrator_pipeline_drop_rounds(pipeline, "", err);
    return status == WEIR_OK ? orchestrator_pipeline_tell_trained(pipeline, wanted.run, err)
                             : status;
}

/* Time and cost of the rounds before the last one are the model's, too. */
static enum weir_status add_rounds(const struct pipeline *pipeline, struct run_result *run,
                                   struct weir_error *err)
{
    WEIR_AUTO(weir_rows) rounds = NULL;
    if (pipeline->newest.round.number == 0)
        return WEIR_OK;
    enum weir_status status = DB_RUN(pipeline->context->db, Q_rounds_cost, &rounds, err,
                                     DB_I64(pipeline->id), DB_I64(pipeline->newest.number));
    if (status != WEIR_OK)
        return status;
    const struct orchestrator_cost cost = orchestrator_run_cost(rounds, 0);
    run->busy_ns += weir_rows_i64(rounds, 0, "busy_ns");
    run->wait_ns += weir_rows_i64(rounds, 0, "wait_ns");
    run->cost.trainer_cpu_ns += cost.trainer_cpu_ns;
    run->cost.worker_cpu_ns += cost.worker_cpu_ns;
    run->cost.bytes_read += cost.bytes_read;
    run->cost.bytes_sent += cost.bytes_sent;
    run->cost.gpu_ns += cost.gpu_ns;
    return WEIR_OK;
}

static void store(struct pipeline *pipeline, const struct run_result *run)
{
    struct weir_error problem;
    struct run_result whole = *run;
    WEIR_AUTO_FREE char *id = orchestrator_pipeline_model_name(pipeline, pipeline->newest.number);
    struct stored stored = {.wanted = {.id = id,
                                       .run = &whole,
                                       .state = "stored",
                                       .until_time = pipeline->newest.until_time,
                                       .settings = &pipeline->config->models}};
    enum weir_status status = add_rounds(pipeline, &whole, &problem);
    if (status == WEIR_OK)
        status =
            orchestrator_model_place(pipeline->context, &stored.wanted, &stored.files, &problem);
    if (status == WEIR_OK)
        status = orchestrator_pipeline_load(pipeline, &problem);
    if (status != WEIR_OK) {
        orchestrator_pipeline_hindered(pipeline, status, &problem);
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
        orchestrator_pipeline_hindered(pipeline, status, reply == NULL ? err : &problem);
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
