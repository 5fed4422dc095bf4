/* EVALUATING: the model of the newest trigger is to be measured on the slice behind it. That happens beside the next
 * triggers: the workers and the processor have room while a trainer learns. What a crash or an erasure interrupts is
 * made up for at the end (finishing.c). A replay has every slice already; a live pipeline measures
 * the models whose slice is over by now. */
#include "core/base/log.h"
#include "orchestrator/evaluations/evaluator.h"
#include "orchestrator/models/retention.h"
#include "orchestrator/models/store.h"
#include "orchestrator/pipeline/pipeline_state.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

static enum weir_status effect_evaluated(struct pipeline *pipeline, const void *what,
                                         struct weir_error *err)
{
    (void)what;
    return DB_RUN(pipeline->orch->db, Q_trigger_state, NULL, err, DB_I64(pipeline->id),
                  DB_I64(pipeline->newest.number), DB_TEXT("done"));
}

static void on_done(void *owner, const struct weir_error *err)
{
    const struct pipeline *pipeline = *(struct pipeline *const *)owner;
    if (err != NULL) {
        weir_log(WEIR_LOG_WARN, "evaluation put off to the end", "pipeline=%s because=\"%s\"",
                 pipeline->config->name, err->text);
    }
}

enum weir_status pipeline_tasks_of_models(struct pipeline *pipeline, int64_t now_time,
                                          struct evaluation_tasks *tasks, struct weir_error *err)
{
    WEIR_AUTO(weir_rows) rows = NULL;
    enum weir_status status = orchestrator_model_all(pipeline->orch, pipeline->id, &rows, err);
    for (size_t i = 0; status == WEIR_OK && i < weir_rows_count(rows); i++) {
        struct stored_model model;
        orchestrator_model_row(rows, i, &model);
        if (strcmp(model.state, "stored") == 0 && model.erasure == 0)
            evaluation_tasks_for(tasks, pipeline->config, model.id, model.until_time, now_time);
    }
    return status;
}

/* A replay does that at its end: until then, every model may have to be measured. */
static enum weir_status drop_old(struct pipeline *pipeline, struct weir_error *err)
{
    if (orchestrator_evaluator_busy(pipeline->orch, &pipeline->aside))
        return WEIR_OK; /* with the next trigger */
    return orchestrator_models_retain(pipeline->orch, pipeline, err);
}

void pipeline_evaluate(struct pipeline *pipeline)
{
    struct weir_error err;
    struct evaluation_tasks tasks = {0};
    enum weir_status status = pipeline_load_newest(pipeline, &err);
    if (status == WEIR_OK && pipeline->config->mode == MODE_LIVE)
        status = drop_old(pipeline, &err);
    if (status == WEIR_OK && pipeline->config->mode == MODE_LIVE) {
        status = pipeline_tasks_of_models(pipeline, pipeline->newest.until_time, &tasks, &err);
    } else if (status == WEIR_OK) {
        char model[ORCHESTRATOR_NAME_MAX + 32];
        (void)snprintf(model, sizeof model, "%s-%" PRId64, pipeline->config->name,
                       pipeline->newest.number);
        evaluation_tasks_for(&tasks, pipeline->config, model, pipeline->newest.until_time,
                             INT64_MAX);
    }
    if (status != WEIR_OK) {
        evaluation_tasks_fini(&tasks);
        pipeline_trouble(pipeline, status, &err);
        return;
    }
    orchestrator_evaluator_start(pipeline, &tasks, on_done, &pipeline->aside);
    pipeline_advance(pipeline, PIPELINE_ON_EVALUATED, effect_evaluated, NULL);
}
