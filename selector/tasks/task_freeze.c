/* Holding still: a view of the columns, and of the pipeline its section, its history and, where the trigger that
 * brought a candidate matters, a copy of its pool. */
#include "selector/tasks/task_freeze.h"

static bool needs_ends(const struct selector_task *task)
{
    return task->kind == SELECTOR_PREVIEW ||
           (task->kind == SELECTOR_SELECT &&
            (task->pipeline->section->needs & SELECTION_NEEDS_TRIGGERS));
}

void selector_task_freeze(struct selector_task *task)
{
    struct selector_pipeline *pipeline = selector_pipeline_ref(task->pipeline);
    task->frozen = *pipeline;
    pipeline->history = (struct selector_history){.warmup = pipeline->section->warmup};
    task->frozen.pool = (struct selector_pool){0};
    if (needs_ends(task) && !pipeline->replay)
        selector_pool_copy(&pipeline->pool, &task->frozen.pool);
    selector_columns_view(&task->queue->columns, &task->columns);
    task->sources = (struct selector_sources){
        .columns = &task->columns,
        .pipeline = &task->frozen,
        .ends = needs_ends(task) ? &task->ends : NULL,
        .history = &task->frozen.history,
    };
}

/* Gives the task's history to the pipeline when it knows more of the earlier sets. */
static void give_back_history(struct selector_task *task)
{
    struct selector_history *own = &task->frozen.history;
    struct selector_history *theirs = &task->pipeline->history;
    if (own->upto > theirs->upto) {
        struct selector_history less = *theirs;
        *theirs = *own;
        *own = less;
    }
    selector_history_fini(own);
}

static void let_go(struct selector_task *task)
{
    if (task->frozen.refs == 0)
        return; /* nothing is held */
    give_back_history(task);
    selector_pool_fini(&task->frozen.pool);
    selector_columns_unview(&task->queue->columns, &task->columns);
    selector_pipeline_unref(task->pipeline);
    task->frozen = (struct selector_pipeline){0};
}

void selector_task_forget_choice(struct selector_task *task)
{
    let_go(task);
    selector_candidates_fini(&task->candidates);
    selector_set_fini(&task->model_request.unscored);
    selector_ends_fini(&task->ends);
    selector_preview_fini(&task->preview);
    task->model_request = (struct selector_model_request){0};
    task->sealed = (struct selector_sealed){0};
}
