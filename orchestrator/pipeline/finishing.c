/* CLOSING: everything that the evaluations of the stream plan is measured, where that is not done yet. Then models that
 * need not be kept are dropped, and the pipeline is finished. */
#include "core/base/memory.h"
#include "orchestrator/context/events.h"
#include "orchestrator/judging/evaluator.h"
#include "orchestrator/judging/promotion.h"
#include "orchestrator/judging/unmeasured.h"
#include "orchestrator/models/retention.h"
#include "orchestrator/pipeline/pipeline_state.h"
#include "orchestrator/runs/run.h"

#include <stdlib.h>

static const char *active_or_null(const struct weir_rows *active)
{
    const char *model = weir_rows_text(active, 0, "model");
    return model[0] == '\0' ? NULL : model;
}

static enum weir_status tell_finished(struct pipeline *pipeline, struct weir_error *err)
{
    struct pipelines *all = pipeline->all;
    WEIR_AUTO(weir_rows) cost_row = NULL;
    WEIR_AUTO(weir_rows) active = NULL;
    json_t *unmeasured = NULL;
    enum weir_status status =
        DB_RUN(all->context->db, Q_run_cost, &cost_row, err, DB_I64(pipeline->id));
    if (status == WEIR_OK)
        status = DB_RUN(all->context->db, Q_model_active, &active, err, DB_I64(pipeline->id));
    if (status == WEIR_OK)
        status = orchestrator_unmeasured_names(all->context, pipeline->id, pipeline->config,
                                               &unmeasured, err);
    if (status != WEIR_OK)
        return status;
    struct orchestrator_cost cost = orchestrator_run_cost(cost_row, 0);
    WEIR_AUTO_BUF text = {0};
    orchestrator_cost_json(&all->context->prices, &cost, &text);
    return orchestrator_event_put(
        all->context,
        &(struct event_about){pipeline->id, 0, "pipeline_finished", "pipeline_finished"},
        JSON_FIELDS(JSON_TEXT("pipeline", pipeline->config->name),
                    JSON_NUMBER("triggers", pipeline->newest.number),
                    JSON_TEXT_OR_NULL("active_model", active_or_null(active)),
                    JSON_NEW("cost", orchestrator_json_of(weir_buf_text(&text))),
                    JSON_NEW("unmeasured", unmeasured)),
        err);
}

static enum weir_status effect_closed(struct pipeline *pipeline, const void *what,
                                      struct weir_error *err)
{
    (void)what;
    return tell_finished(pipeline, err);
}

static void on_ended(void *owner, const struct weir_reply *reply, const struct weir_error *err)
{
    (void)owner;
    (void)reply;
    (void)err; /* lost: the consumer expires */
}

/* The selector reads on from a snapshot if it is asked again. */
void orchestrator_pipeline_end_feed(struct pipeline *pipeline, weir_rpc_done_fn *done)
{
    static const char *const READERS[PIPELINE_READERS] = {"orchestrator:", "selector/"};
    for (size_t i = 0; i < WEIR_COUNT(READERS); i++) {
        WEIR_AUTO_FREE char *consumer = weir_format("%s%s", READERS[i], pipeline->config->name);
        struct msg_feed_end end = {.consumer = consumer, .dataset = ""};
        weir_rpc_call(pipeline->context->storage, MSG_feed_end, &end, ORCHESTRATOR_REQUEST_MS,
                      done == NULL ? on_ended : done,
                      done == NULL ? (void *)pipeline->all : pipeline);
    }
}

static evaluator_done_fn on_done;

/* True: a model waits for another one to be measured. */
static bool judge(struct pipeline *pipeline, enum weir_status *ret_status, struct weir_error *err)
{
    struct evaluation_tasks tasks = {0};
    pipeline->judging.is_last = true;
    *ret_status =
        orchestrator_promotions_judge(pipeline->context, orchestrator_pipeline_outline(pipeline),
                                      &pipeline->judging, &tasks, err);
    bool waits = *ret_status == WEIR_OK && tasks.count > 0;
    if (waits)
        orchestrator_evaluator_start(pipeline->all->evaluators,
                                     orchestrator_pipeline_outline(pipeline), &tasks, on_done,
                                     pipeline);
    else
        orchestrator_evaluation_tasks_fini(&tasks);
    return waits;
}

static void on_done(void *owner, const struct weir_error *err)
{
    struct pipeline *pipeline = owner;
    struct weir_error problem;
    enum weir_status status = WEIR_OK;
    if (err != NULL) {
        orchestrator_pipeline_trouble(pipeline, err->status, err);
        return;
    }
    if (judge(pipeline, &status, &problem))
        return;
    if (status == WEIR_OK && !orchestrator_pipeline_erasure_claims(pipeline))
        status = orchestrator_models_retain(pipeline->context,
                                            orchestrator_pipeline_outline(pipeline), &problem);
    if (status != WEIR_OK)
        orchestrator_pipeline_trouble(pipeline, status, &problem);
    else if (orchestrator_pipeline_advance(pipeline, PIPELINE_ON_CLOSED, effect_closed, NULL))
        orchestrator_pipeline_end_feed(pipeline, NULL);
}

void orchestrator_pipeline_finish(struct pipeline *pipeline)
{
    struct weir_error err;
    struct evaluation_tasks tasks = {0};
    if (orchestrator_evaluator_busy(pipeline->all->evaluators, &pipeline->evaluation_owner)) {
        orchestrator_pipeline_begin_after(pipeline, ORCHESTRATOR_POLL_MS);
        return;
    }
    enum weir_status status = orchestrator_pipeline_load(pipeline, &err);
    if (status == WEIR_OK)
        status = orchestrator_pipeline_plan(
            pipeline,
            &(struct evaluation_wanted){.when = EVALUATE_AFTER_TRAINING | EVALUATE_AFTER_PIPELINE,
                                        .ended = true},
            &tasks, &err);
    if (status != WEIR_OK) {
        orchestrator_evaluation_tasks_fini(&tasks);
        orchestrator_pipeline_trouble(pipeline, status, &err);
        return;
    }
    orchestrator_evaluator_start(pipeline->all->evaluators, orchestrator_pipeline_outline(pipeline),
                                 &tasks, on_done, pipeline);
}
