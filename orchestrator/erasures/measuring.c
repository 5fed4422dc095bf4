/* The models that took the place of others are measured where those were, pipeline by pipeline; a
 * new active model on whatever else its evaluations plan. A model that cannot be measured is
 * replaced all the same: the receipt says so. */
#include "core/base/log.h"
#include "orchestrator/erasures/erasure_state.h"
#include "orchestrator/judging/evaluator.h"
#include "orchestrator/pipeline/pipeline.h"

#include <inttypes.h>
#include <string.h>

static void on_measured(void *owner, const struct weir_error *err)
{
    struct erasure_batch *batch = owner;
    if (err != NULL)
        weir_log(WEIR_LOG_WARN, "models stay unmeasured", "erasure=%" PRId64 " because=\"%s\"",
                 batch->number, err->text);
    orchestrator_erasure_begin_after(batch, 0);
}

/* An evaluation that the pipeline's file has no longer is not made again. */
static void add_task(struct evaluation_tasks *tasks, const struct orchestrator_config *config,
                     const struct weir_rows *rows, size_t row)
{
    const struct orchestrator_evaluation *evaluation =
        orchestrator_config_evaluation(config, weir_rows_text(rows, row, "name"));
    if (evaluation != NULL)
        orchestrator_evaluation_tasks_add(tasks, weir_rows_text(rows, row, "replacement"),
                                          (size_t)(evaluation - config->evaluations),
                                          weir_rows_i64(rows, row, "from_time"),
                                          weir_rows_i64(rows, row, "to_time"));
}

static enum weir_status add_tasks(struct erasure_batch *batch, struct pipeline *pipeline,
                                  struct evaluation_tasks *tasks, struct weir_error *err)
{
    const struct orchestrator_config *config = orchestrator_pipeline_config(pipeline);
    int64_t id = orchestrator_pipeline_id(pipeline);
    WEIR_AUTO(weir_rows) rows = NULL;
    WEIR_AUTO(weir_rows) active = NULL;
    enum weir_status status =
        DB_RUN(batch->context->db, Q_erasure_measures, &rows, err, DB_I64(batch->number));
    if (status == WEIR_OK)
        status = DB_RUN(batch->context->db, Q_erasure_new_active, &active, err,
                        DB_I64(batch->number), DB_I64(id));
    for (size_t i = 0; status == WEIR_OK && i < weir_rows_count(rows); i++)
        if (weir_rows_i64(rows, i, "pipeline") == id)
            add_task(tasks, config, rows, i);
    if (status != WEIR_OK || weir_rows_count(active) == 0)
        return status;
    const struct evaluation_wanted wanted = {.when = EVALUATE_AFTER_TRAINING,
                                             .model = weir_rows_text(active, 0, "id")};
    return orchestrator_pipeline_plan(pipeline, &wanted, tasks, err);
}

enum weir_status orchestrator_erasure_measure(struct erasure_batch *batch, bool *ret_started,
                                              struct weir_error *err)
{
    WEIR_AUTO(weir_rows) rows = NULL;
    enum weir_status status = DB_RUN(batch->context->db, Q_erasure_pipelines, &rows, err,
                                     DB_I64(batch->number), DB_I64(batch->measured));
    for (size_t i = 0; status == WEIR_OK && !*ret_started && i < weir_rows_count(rows); i++) {
        struct evaluation_tasks tasks = {0};
        batch->measured = weir_rows_i64(rows, i, "pipeline");
        struct pipeline *pipeline =
            orchestrator_pipeline_by_id(batch->all->pipelines, batch->measured);
        if (pipeline != NULL)
            status = add_tasks(batch, pipeline, &tasks, err);
        *ret_started = status == WEIR_OK && tasks.count > 0;
        if (*ret_started)
            orchestrator_evaluator_start(batch->all->evaluators,
                                         orchestrator_pipeline_outline(pipeline), &tasks,
                                         on_measured, batch);
        orchestrator_evaluation_tasks_fini(&tasks);
    }
    return status;
}
