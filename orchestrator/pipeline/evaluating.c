/* EVALUATING: the model of the newest trigger is measured on the slice behind it. A replay has that slice already; a
 * live pipeline measures when it closes. */
#include "orchestrator/evaluations/evaluator.h"
#include "orchestrator/pipeline/pipeline_state.h"

#include <inttypes.h>
#include <stdio.h>

static enum weir_status effect_evaluated(struct pipeline *pipeline, const void *what,
                                         struct weir_error *err)
{
    (void)what;
    return DB_RUN(pipeline->orch->db, Q_trigger_state, NULL, err, DB_I64(pipeline->id),
                  DB_I64(pipeline->newest.number), DB_TEXT("done"));
}

static void on_done(void *owner, const struct weir_error *err)
{
    struct pipeline *pipeline = owner;
    if (err != NULL) {
        pipeline_trouble(pipeline, err->status, err);
        return;
    }
    pipeline_advance(pipeline, PIPELINE_ON_EVALUATED, effect_evaluated, NULL);
}

void pipeline_evaluate(struct pipeline *pipeline)
{
    struct weir_error err;
    struct evaluation_tasks tasks = {0};
    enum weir_status status = pipeline_load_newest(pipeline, &err);
    if (status != WEIR_OK) {
        pipeline_trouble(pipeline, status, &err);
        return;
    }
    if (pipeline->config->mode == MODE_REPLAY) {
        char model[ORCHESTRATOR_NAME_MAX + 32];
        (void)snprintf(model, sizeof model, "%s-%" PRId64, pipeline->config->name,
                       pipeline->newest.number);
        evaluation_tasks_for(&tasks, pipeline->config, model, pipeline->newest.until_time);
    }
    orchestrator_evaluator_start(pipeline, &tasks, on_done, pipeline);
}
