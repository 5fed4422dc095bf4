/* Working off evaluation tasks. */
#include "orchestrator/judging/evaluator.h"

#include "core/base/log.h"
#include "core/base/memory.h"
#include "orchestrator/judging/results.h"
#include "orchestrator/judging/unmeasured.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct evaluator {
    struct evaluators *all;
    struct context *context;
    LIST_ENTRY(evaluator) link;
    struct pipeline_outline pipeline;
    struct evaluation_tasks tasks;
    size_t at;
    int64_t run; /* run being measured */
    struct measuring *measuring;
    evaluator_done_fn *done;
    void *owner;
    uint64_t timer;
};

/* ---- lists of tasks ---- */

void orchestrator_evaluation_tasks_add(struct evaluation_tasks *tasks, const char *model,
                                       size_t evaluation, int64_t from_time, int64_t to_time)
{
    if (tasks->count == EVALUATION_TASKS_MAX)
        return;
    tasks->at = weir_grow(tasks->at, tasks->count, &tasks->capacity, sizeof(*tasks->at));
    struct evaluation_task *task = &tasks->at[tasks->count++];
    *task = (struct evaluation_task){
        .evaluation = evaluation, .from_time = from_time, .to_time = to_time};
    (void)snprintf(task->model, sizeof(task->model), "%s", model);
}

void orchestrator_evaluation_tasks_fini(struct evaluation_tasks *tasks)
{
    free(tasks->at);
    *tasks = (struct evaluation_tasks){0};
}

/* ---- the evaluator ---- */

static void free_evaluator(struct evaluator *evaluator)
{
    weir_rpc_forget(evaluator->context->selector, evaluator);
    orchestrator_run_forget(evaluator->all->runs, evaluator);
    orchestrator_measuring_abandon(evaluator->measuring);
    weir_loop_cancel(evaluator->context->loop, evaluator->timer);
    orchestrator_evaluation_tasks_fini(&evaluator->tasks);
    free(evaluator);
}

static void finish(struct evaluator *evaluator, const struct weir_error *err)
{
    struct weir_error why = {0};
    evaluator_done_fn *done = evaluator->done;
    void *owner = evaluator->owner;
    if (err != NULL)
        why = *err;
    LIST_REMOVE(evaluator, link);
    free_evaluator(evaluator);
    done(owner, err == NULL ? NULL : &why);
}

static void step(void *owner);

static void begin_after(struct evaluator *evaluator, int64_t delay_ms)
{
    weir_loop_cancel(evaluator->context->loop, evaluator->timer);
    evaluator->timer = weir_loop_timer(evaluator->context->loop, delay_ms, 0, step, evaluator);
}

static void trouble(struct evaluator *evaluator, enum weir_status status,
                    const struct weir_error *err)
{
    if (!orchestrator_may_pass(status)) {
        finish(evaluator, err);
        return;
    }
    weir_log(WEIR_LOG_WARN, "evaluation tried again", "because=\"%s\"", err->text);
    begin_after(evaluator, ORCHESTRATOR_AGAIN_MS);
}

static void pass_over(struct evaluator *evaluator)
{
    evaluator->at++;
    begin_after(evaluator, 0);
}

static void on_measured(void *owner, const struct weir_error *err)
{
    struct evaluator *evaluator = owner;
    struct weir_error problem;
    evaluator->measuring = NULL;
    if (err != NULL) {
        trouble(evaluator, err->status, err);
        return;
    }
    if (orchestrator_run_remove_files(evaluator->context, evaluator->run, &problem) != WEIR_OK)
        weir_log(WEIR_LOG_WARN, "files of a finished run stay", "%s", problem.text);
    pass_over(evaluator);
}

static void on_run(void *owner, const struct run_result *run, const struct weir_error *err)
{
    struct evaluator *evaluator = owner;
    if (run == NULL) {
        trouble(evaluator, err->status, err);
        return;
    }
    const struct evaluation_result result = {
        .pipeline = &evaluator->pipeline,
        .task = &evaluator->tasks.at[evaluator->at],
        .run = run,
    };
    evaluator->run = run->number;
    evaluator->measuring =
        orchestrator_measuring_start(evaluator->context, &result, on_measured, evaluator);
}

static void start_run(struct evaluator *evaluator, const struct msg_selected *selected)
{
    const struct evaluation_task *task = &evaluator->tasks.at[evaluator->at];
    const struct orchestrator_config *config = evaluator->pipeline.config;
    WEIR_AUTO_FREE char *purpose = weir_format("evaluate/%s/%s/%" PRId64 "/%" PRId64,
                                               config->evaluations[task->evaluation].name,
                                               task->model, task->from_time, task->to_time);
    struct weir_error err;
    struct run_wanted wanted = {
        .pipeline = evaluator->pipeline,
        .purpose = purpose,
        .mode = "evaluate",
        .set_digest = selected->digest,
        .set_path = selected->path,
        .epochs = 1,
        .seed = config->seed,
        .base_model = task->model,
    };
    enum weir_status status =
        orchestrator_run_start(evaluator->all->runs, &wanted, on_run, evaluator, &err);
    if (status != WEIR_OK)
        trouble(evaluator, status, &err);
}

static void tell_empty(struct evaluator *evaluator)
{
    const struct evaluation_result empty = {.pipeline = &evaluator->pipeline,
                                            .task = &evaluator->tasks.at[evaluator->at]};
    struct weir_error err;
    enum weir_status status = orchestrator_unmeasured_tell(evaluator->context, &empty, &err);
    if (status == WEIR_OK)
        pass_over(evaluator);
    else
        trouble(evaluator, status, &err);
}

/* A disk that is full or away comes back. */
static void not_sealed(struct evaluator *evaluator, const struct weir_error *err)
{
    if (err->status != WEIR_IO) {
        trouble(evaluator, err->status, err);
        return;
    }
    weir_log(WEIR_LOG_WARN, "evaluation tried again", "because=\"%s\"", err->text);
    begin_after(evaluator, 10 * ORCHESTRATOR_AGAIN_MS);
}

static void on_sealed(void *owner, const struct weir_reply *reply, const struct weir_error *err)
{
    struct evaluator *evaluator = owner;
    if (reply == NULL) {
        not_sealed(evaluator, err);
        return;
    }
    const struct msg_selected *selected = reply->message;
    if (selected->digest[0] == '\0' || selected->samples == 0)
        tell_empty(evaluator);
    else
        start_run(evaluator, selected);
}

static enum weir_status is_done(const struct evaluator *evaluator,
                                const struct evaluation_task *task, bool *ret_done,
                                struct weir_error *err)
{
    const struct orchestrator_config *config = evaluator->pipeline.config;
    WEIR_AUTO(weir_rows) rows = NULL;
    enum weir_status status =
        DB_RUN(evaluator->context->db, Q_evaluation_has, &rows, err, DB_I64(evaluator->pipeline.id),
               DB_TEXT(task->model), DB_TEXT(config->evaluations[task->evaluation].name),
               DB_I64(task->from_time), DB_I64(task->to_time));
    if (status == WEIR_OK)
        *ret_done = weir_rows_count(rows) > 0;
    return status;
}

/* Feed positions by dataset; those of datasets that the evaluation does not measure on are before the first change. */
static struct weir_u64s positions_of(const struct pipeline_outline *pipeline, const char *dataset,
                                     uint64_t room[ORCHESTRATOR_DATASETS_MAX])
{
    struct weir_u64s positions = pipeline->positions;
    for (size_t i = 0; i < positions.count; i++) {
        bool is_measured = orchestrator_config_measures(pipeline->config, i, dataset);
        room[i] = is_measured ? positions.at[i] : 0;
    }
    return (struct weir_u64s){.at = room, .count = positions.count};
}

static void step(void *owner)
{
    struct evaluator *evaluator = owner;
    struct weir_error err;
    bool done = false;
    evaluator->timer = 0;
    if (evaluator->at == evaluator->tasks.count) {
        finish(evaluator, NULL);
        return;
    }
    const struct evaluation_task *task = &evaluator->tasks.at[evaluator->at];
    enum weir_status status = is_done(evaluator, task, &done, &err);
    if (status != WEIR_OK) {
        trouble(evaluator, status, &err);
        return;
    }
    if (done) {
        pass_over(evaluator);
        return;
    }
    const struct orchestrator_config *config = evaluator->pipeline.config;
    const struct orchestrator_evaluation *evaluation = &config->evaluations[task->evaluation];
    uint64_t positions[ORCHESTRATOR_DATASETS_MAX];
    struct msg_interval_seal seal = {
        .pipeline = config->name,
        .from_time = task->from_time,
        .to_time = task->to_time,
        .positions = positions_of(&evaluator->pipeline, evaluation->dataset, positions),
        .holdout = evaluation->holdout,
    };
    weir_rpc_call(evaluator->context->selector, MSG_interval_seal, &seal, ORCHESTRATOR_REQUEST_MS,
                  on_sealed, evaluator);
}

static struct evaluator *find(const struct evaluators *evaluators, const void *owner)
{
    struct evaluator *evaluator;

    LIST_FOREACH (evaluator, &evaluators->all, link) {
        if (evaluator->owner == owner)
            return evaluator;
    }
    return NULL;
}

bool orchestrator_evaluator_busy(const struct evaluators *evaluators, const void *owner)
{
    return find(evaluators, owner) != NULL;
}

/* After what the same owner waits for already. */
static bool append(struct evaluators *evaluators, struct evaluation_tasks *tasks, const void *owner)
{
    struct evaluator *evaluator = find(evaluators, owner);
    if (evaluator == NULL)
        return false;
    for (size_t i = 0; i < tasks->count; i++) {
        const struct evaluation_task *task = &tasks->at[i];
        orchestrator_evaluation_tasks_add(&evaluator->tasks, task->model, task->evaluation,
                                          task->from_time, task->to_time);
    }
    orchestrator_evaluation_tasks_fini(tasks);
    return true;
}

void orchestrator_evaluator_start(struct evaluators *evaluators, struct pipeline_outline pipeline,
                                  struct evaluation_tasks *tasks, evaluator_done_fn *done,
                                  void *owner)
{
    if (append(evaluators, tasks, owner))
        return;
    struct evaluator *evaluator = weir_calloc(1, sizeof(*evaluator));
    evaluator->all = evaluators;
    evaluator->context = evaluators->context;
    evaluator->pipeline = pipeline;
    evaluator->tasks = *tasks;
    *tasks = (struct evaluation_tasks){0};
    evaluator->done = done;
    evaluator->owner = owner;
    LIST_INSERT_HEAD(&evaluators->all, evaluator, link);
    begin_after(evaluator, 0);
}

void orchestrator_evaluator_forget(struct evaluators *evaluators, const void *owner)
{
    struct evaluator *evaluator;

    while ((evaluator = find(evaluators, owner)) != NULL) {
        LIST_REMOVE(evaluator, link);
        free_evaluator(evaluator);
    }
}
