/* EVALUATING: the model of the newest trigger is to be measured on the slice behind it. That happens beside the next
 * triggers: the workers and the processor have room while a trainer learns. What a crash or an erasure interrupts is
 * made up for at the end (finishing.c). A live pipeline has no slice behind its newest sample yet. */
#include "core/base/log.h"
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
    const struct pipeline *pipeline = *(struct pipeline *const *)owner;
    if (err != NULL) {
        weir_log(WEIR_LOG_WARN, "evaluation put off to the end", "pipeline=%s because=\"%s\"",
                 pipeline->config->name, err->text);
    }
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
        orchestrator_evaluator_start(pipeline, &tasks, on_done, &pipeline->aside);
    }
    pipeline_advance(pipeline, PIPELINE_ON_EVALUATED, effect_evaluated, NULL);
}
