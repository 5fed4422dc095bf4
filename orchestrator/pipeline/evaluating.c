/* EVALUATING: what the newest model makes possible is measured. That happens beside the next triggers: the workers and
 * the processor have room while a trainer learns. What a crash or an erasure interrupts is made up for by the first
 * plan of the next process, and at the end (finishing.c). A replay has every interval already; a live pipeline
 * measures on those that are over by now. */
#include "core/base/log.h"
#include "core/base/memory.h"
#include "orchestrator/judging/evaluator.h"
#include "orchestrator/judging/promotion.h"
#include "orchestrator/models/retention.h"
#include "orchestrator/models/store.h"
#include "orchestrator/pipeline/pipeline_state.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

static enum weir_status effect_evaluated(struct pipeline *pipeline, const void *what,
                                         struct weir_error *err)
{
    (void)what;
    return DB_RUN(pipeline->context->db, Q_trigger_state, NULL, err, DB_I64(pipeline->id),
                  DB_I64(pipeline->newest.number), DB_TEXT("done"));
}

static evaluator_done_fn on_done;

/* In a live pipeline; a replay does that at its end, when every model was measured, so that the same measures decide
 * whoever was killed meanwhile. */
static void judge(struct pipeline *pipeline)
{
    struct weir_error err;
    struct evaluation_tasks tasks = {0};
    if (orchestrator_promotions_judge(pipeline->context, orchestrator_pipeline_outline(pipeline),
                                      &pipeline->judging, &tasks, &err) != WEIR_OK) {
        weir_log(WEIR_LOG_WARN, "models are compared later", "pipeline=%s because=\"%s\"",
                 pipeline->config->name, err.text);
    }
    if (tasks.count > 0)
        orchestrator_evaluator_start(pipeline->all->evaluators,
                                     orchestrator_pipeline_outline(pipeline), &tasks, on_done,
                                     &pipeline->evaluation_owner);
    else
        orchestrator_evaluation_tasks_fini(&tasks);
}

static void on_done(void *owner, const struct weir_error *err)
{
    struct pipeline *pipeline = *(struct pipeline *const *)owner;
    if (err != NULL) {
        weir_log(WEIR_LOG_WARN, "evaluation put off to the end", "pipeline=%s because=\"%s\"",
                 pipeline->config->name, err->text);
    } else if (pipeline->config->mode == MODE_LIVE) {
        judge(pipeline);
    }
}

/* ---- what is to be measured ---- */

/* Room for every model, in the order of their triggers; texts are borrowed from `rows`. */
static size_t stored_models(struct weir_rows *rows, struct evaluation_model *ret_models)
{
    size_t count = 0;
    for (size_t i = 0; i < weir_rows_count(rows); i++) {
        struct stored_model model;
        orchestrator_model_row(rows, i, &model);
        bool is_replaced =
            strcmp(model.state, "replacing") == 0 || strcmp(model.state, "replaced") == 0;
        if (is_replaced || model.role[0] != '\0')
            continue; /* there is another one of its trigger */
        int64_t until = model.until_time;
        if (count > 0 && ret_models[count - 1].until_time > until)
            until = ret_models[count - 1].until_time; /* late samples */
        ret_models[count++] = (struct evaluation_model){
            .id = model.id, .until_time = until, .gone = strcmp(model.state, "stored") != 0};
    }
    return count;
}

struct planning {
    const struct evaluation_stream *stream;
    const struct evaluation_wanted *wanted;
    size_t evaluation;
    struct evaluation_tasks *tasks;
};

static void add_planned(void *owner, size_t model, struct evaluation_interval interval)
{
    const struct planning *planning = owner;
    const char *id = planning->stream->models[model].id;
    if (planning->wanted->model == NULL || strcmp(planning->wanted->model, id) == 0)
        orchestrator_evaluation_tasks_add(planning->tasks, id, planning->evaluation, interval.from,
                                          interval.to);
}

static bool is_wanted(const struct orchestrator_evaluation *evaluation,
                      const struct evaluation_wanted *wanted)
{
    return (wanted->when & 1U << evaluation->when) != 0 &&
           (wanted->evaluation == NULL || strcmp(wanted->evaluation, evaluation->name) == 0);
}

/* Of a replay none may be left out; a live pipeline goes on with the newest ones. */
static enum weir_status check_count(const struct pipeline *pipeline,
                                    const struct orchestrator_evaluation *evaluation,
                                    const struct evaluation_stream *stream, struct weir_error *err)
{
    uint64_t count = orchestrator_plan_count(&evaluation->request, stream);
    if (pipeline->config->mode == MODE_LIVE || count <= EVALUATION_INTERVALS_MAX)
        return WEIR_OK;
    return weir_fail(err, WEIR_LIMIT,
                     "evaluation '%s': %" PRIu64 " intervals to measure models on, expected at "
                     "most %d: a longer `every`, or from and to, or triggers that fire less often "
                     "(weir apply changes it)",
                     evaluation->name, count, EVALUATION_INTERVALS_MAX);
}

static struct evaluation_scope scope_of(const struct pipeline *pipeline,
                                        const struct evaluation_wanted *wanted,
                                        const struct evaluation_stream *stream)
{
    bool live = pipeline->config->mode == MODE_LIVE;
    struct evaluation_scope scope = {.over_since = INT64_MIN,
                                     .now = live ? stream->end_time : INT64_MAX};
    if (!wanted->newest || stream->count < 2)
        return scope;
    scope.first_model = stream->count - 2; /* what that one is measured on may have been open */
    scope.over_since = live ? stream->models[scope.first_model].until_time : INT64_MAX;
    return scope;
}

enum weir_status orchestrator_pipeline_plan(const struct pipeline *pipeline,
                                            const struct evaluation_wanted *wanted,
                                            struct evaluation_tasks *tasks, struct weir_error *err)
{
    WEIR_AUTO(weir_rows) rows = NULL;
    if (pipeline->config->evaluation_count == 0)
        return WEIR_OK;
    enum weir_status status = orchestrator_model_all(pipeline->context, pipeline->id, &rows, err);
    if (status != WEIR_OK)
        return status;
    WEIR_AUTO_FREE struct evaluation_model *models =
        weir_calloc(weir_rows_count(rows) + 1, sizeof(*models));
    struct evaluation_stream stream = {
        .models = models, .count = stored_models(rows, models), .ended = wanted->ended};
    if (stream.count == 0)
        return WEIR_OK;
    stream.end_time = pipeline->config->mode == MODE_LIVE ? models[stream.count - 1].until_time
                                                          : pipeline->end_time;
    struct evaluation_scope scope = scope_of(pipeline, wanted, &stream);
    for (size_t i = 0; i < pipeline->config->evaluation_count && status == WEIR_OK; i++) {
        const struct orchestrator_evaluation *evaluation = &pipeline->config->evaluations[i];
        struct planning planning = {&stream, wanted, i, tasks};
        if (!is_wanted(evaluation, wanted))
            continue;
        status = check_count(pipeline, evaluation, &stream, err);
        if (status == WEIR_OK)
            orchestrator_plan(&evaluation->request, &stream, &scope, add_planned, &planning);
    }
    if (tasks->count == EVALUATION_TASKS_MAX) {
        weir_log(WEIR_LOG_WARN, "more to measure than is planned at once", "pipeline=%s tasks=%d",
                 pipeline->config->name, EVALUATION_TASKS_MAX);
    }
    return status;
}

/* A replay does that at its end: until then, every model may have to be measured. */
static enum weir_status drop_old(struct pipeline *pipeline, struct weir_error *err)
{
    if (orchestrator_pipeline_erasure_claims(pipeline) ||
        orchestrator_evaluator_busy(pipeline->all->evaluators, &pipeline->evaluation_owner))
        return WEIR_OK; /* with the next trigger */
    return orchestrator_models_retain(pipeline->context, orchestrator_pipeline_outline(pipeline),
                                      err);
}

void orchestrator_pipeline_evaluate(struct pipeline *pipeline)
{
    struct weir_error err;
    struct evaluation_tasks tasks = {0};
    const struct evaluation_wanted wanted = {.when = EVALUATE_AFTER_TRAINING,
                                             .newest = pipeline->caught_up};
    enum weir_status status = orchestrator_pipeline_load(pipeline, &err);
    if (status == WEIR_OK && pipeline->newest.round.number > 0) /* models of its rounds */
        status = orchestrator_models_end_dropping(pipeline->context, &err);
    if (status == WEIR_OK && pipeline->config->mode == MODE_LIVE)
        status = drop_old(pipeline, &err);
    if (status == WEIR_OK)
        status = orchestrator_pipeline_plan(pipeline, &wanted, &tasks, &err);
    if (status != WEIR_OK) {
        orchestrator_evaluation_tasks_fini(&tasks);
        orchestrator_pipeline_trouble(pipeline, status, &err);
        return;
    }
    pipeline->caught_up = true;
    orchestrator_evaluator_start(pipeline->all->evaluators, orchestrator_pipeline_outline(pipeline),
                                 &tasks, on_done, &pipeline->evaluation_owner);
    orchestrator_pipeline_advance(pipeline,
                                  orchestrator_pipeline_goes_on(pipeline) ? PIPELINE_ON_TRIGGERED
                                                                          : PIPELINE_ON_EVALUATED,
                                  effect_evaluated, NULL);
}
