/* SCORING: a model says what the samples are worth that the selector chooses among. A run like an evaluation's; its
 * outputs are the selector's once that has said so, and the run's files go. Then the selector is asked again. */
#include "core/base/log.h"
#include "core/base/memory.h"
#include "orchestrator/context/events.h"
#include "orchestrator/pipeline/pipeline_state.h"
#include "orchestrator/pipeline/training.h"

#include <inttypes.h>
#include <stdlib.h>

static enum weir_status load_wanted(const struct pipeline *pipeline, struct weir_rows **ret_rows,
                                    struct weir_error *err)
{
    enum weir_status status = DB_RUN(pipeline->context->db, Q_score_get, ret_rows, err,
                                     DB_I64(pipeline->id), DB_I64(pipeline->newest.number));
    if (status != WEIR_OK || weir_rows_count(*ret_rows) > 0)
        return status;
    return weir_fail(err, WEIR_INTERNAL,
                     "pipeline %s: nothing is recorded of what trigger %" PRId64 " wants scored",
                     pipeline->config->name, pipeline->newest.number);
}

/* ---- the selector takes over ---- */

static void on_noted(void *owner, const struct weir_reply *reply, const struct weir_error *err)
{
    struct pipeline *pipeline = owner;
    struct weir_error problem;
    if (reply == NULL) {
        orchestrator_pipeline_hindered(pipeline, err->status, err);
        return;
    }
    if (orchestrator_pipeline_advance(pipeline, PIPELINE_ON_SCORED, NULL, NULL) &&
        orchestrator_run_remove_files(pipeline->context, pipeline->scores_run, &problem) != WEIR_OK)
        weir_log(WEIR_LOG_WARN, "files of a finished run stay", "%s", problem.text);
}

static enum weir_status hand_over(struct pipeline *pipeline, const struct run_result *run,
                                  struct weir_error *err)
{
    WEIR_AUTO(weir_rows) wanted = NULL;
    enum weir_status status = load_wanted(pipeline, &wanted, err);
    if (status != WEIR_OK)
        return status;
    WEIR_AUTO_FREE char *outputs = weir_format("%s/%s", run->directory, run->outputs_file);
    const struct msg_scores_take take = {
        .pipeline = pipeline->config->name,
        .mode = weir_rows_text(wanted, 0, "mode"),
        .model = weir_rows_text(wanted, 0, "model"),
        .digest = weir_rows_text(wanted, 0, "set_digest"),
        .outputs = outputs,
    };
    pipeline->scores_run = run->number;
    weir_rpc_call(pipeline->context->selector, MSG_scores_take, &take, ORCHESTRATOR_REQUEST_MS,
                  on_noted, pipeline);
    return WEIR_OK;
}

/* ---- the run ---- */

/* Told as soon as it is done: what it cost is spent, whatever becomes of the trigger. */
static enum weir_status effect_announced(void *subject, const void *what, struct weir_error *err)
{
    const struct pipeline *pipeline = subject;
    const struct run_result *run = what;
    json_t *body = orchestrator_training_json(pipeline, run);
    json_object_set_new(body, "mode", json_string(run->mode));
    json_object_set_new(body, "model", json_string(run->parent));
    json_object_del(body, "loss");
    WEIR_AUTO_FREE char *key = weir_format("scoring_finished/%s", run->purpose);
    return orchestrator_event_put(pipeline->context,
                                  &(struct event_about){pipeline->id, 0, key, "scoring_finished"},
                                  body, err);
}

static enum weir_status store(struct pipeline *pipeline, const struct run_result *run,
                              struct weir_error *err)
{
    enum weir_status status =
        orchestrator_commit(pipeline->context, effect_announced, pipeline, run, err);
    return status == WEIR_OK ? hand_over(pipeline, run, err) : status;
}

static void on_run(void *owner, const struct run_result *run, const struct weir_error *err)
{
    orchestrator_pipeline_store_run(owner, run, err, store);
}

static enum weir_status start_run(struct pipeline *pipeline, struct weir_error *err)
{
    WEIR_AUTO(weir_rows) wanted = NULL;
    enum weir_status status = orchestrator_pipeline_load(pipeline, err);
    if (status == WEIR_OK)
        status = load_wanted(pipeline, &wanted, err);
    if (status != WEIR_OK)
        return status;
    WEIR_AUTO_FREE char *purpose = weir_format(
        "score/%" PRId64 "/%" PRId64, pipeline->newest.number, weir_rows_i64(wanted, 0, "round"));
    const struct run_wanted run = {
        .pipeline = orchestrator_pipeline_outline(pipeline),
        .purpose = purpose,
        .mode = weir_rows_text(wanted, 0, "mode"),
        .trigger = pipeline->newest.number,
        .set_digest = weir_rows_text(wanted, 0, "set_digest"),
        .set_path = weir_rows_text(wanted, 0, "set_path"),
        .epochs = 1,
        .seed = pipeline->config->seed,
        .base_model = weir_rows_text(wanted, 0, "model"),
    };
    return orchestrator_run_start(pipeline->all->runs, &run, on_run, pipeline, err);
}

void orchestrator_pipeline_score(struct pipeline *pipeline)
{
    struct weir_error err;
    enum weir_status status = start_run(pipeline, &err);
    if (status != WEIR_OK)
        orchestrator_pipeline_trouble(pipeline, status, &err);
}
