/* GATHER: the candidates in the window, by block; storage is asked for columns not at hand. */
#include "selector/tasks/task_steps.h"

#include "selector/tasks/task_endings.h"

#include <string.h>

static void on_columns(void *owner, const struct weir_reply *reply, const struct weir_error *err)
{
    struct selector_task *task = owner;
    if (selector_task_refused(task, reply, err))
        return;
    const struct msg_columns_is *columns = reply->message;
    size_t index = task->pipeline->ascending[task->dataset];
    uint64_t dataset = task->pipeline->datasets[index];
    if (columns->times.count != columns->ids.count || columns->labels.count != columns->ids.count) {
        struct weir_error own;
        weir_ignore(weir_fail(&own, WEIR_CORRUPT, "storage sent columns of unequal length"));
        selector_task_fail(task, &own); /* it carries the status */
        return;
    }
    const struct selector_column_block block = {
        .first = weir_sample_id((uint32_t)dataset, (uint32_t)task->block, 0),
        .rows = selector_pool_rows(&task->pipeline->pool, dataset, task->block),
        .count = columns->ids.count,
        .ids = columns->ids.at,
        .times = columns->times.at,
        .labels = columns->labels.at,
        .held_out = columns->held_out,
    };
    struct weir_error own;
    if (selector_columns_put(&task->queue->columns, &block, &own) != WEIR_OK)
        selector_task_fail(task, &own);
    else
        task->queue->step(task);
}

static bool is_training(const struct selector_task *task)
{
    return task->kind == SELECTOR_SELECT || task->kind == SELECTOR_PREVIEW;
}

static bool wants_held_out(const struct selector_task *task)
{
    return task->kind == SELECTOR_INTERVAL && task->asked.interval.holdout;
}

/* NULL: nothing is held out of the index-th dataset, and nothing that is held out is wanted. */
static const struct selector_holdout *holdout_of(const struct selector_task *task, size_t index)
{
    const struct selector_section *section = task->pipeline->section;
    if (index >= section->dataset_count || (!is_training(task) && !wants_held_out(task)))
        return NULL;
    const struct selector_holdout *holdout = &section->holdouts[index];
    return holdout->by_subject || holdout->bound > 0 || wants_held_out(task) ? holdout : NULL;
}

static bool needs_columns(const struct selector_task *task, size_t index)
{
    unsigned needs = task->pipeline->section->needs;
    const struct selector_holdout *holdout = holdout_of(task, index);
    return task->kind == SELECTOR_INTERVAL || task->kind == SELECTOR_PREVIEW ||
           task->pipeline->replay || (holdout != NULL && holdout->by_subject) ||
           (needs & (SELECTION_NEEDS_TIMES | SELECTION_NEEDS_LABELS));
}

/* No training set ever touches what is held out; a sealed holdout holds nothing else. */
static enum weir_status hold_out(struct selector_task *task, size_t index, uint64_t first,
                                 struct weir_error *err)
{
    const struct selector_holdout *holdout = holdout_of(task, index);
    if (holdout != NULL && holdout->by_subject)
        return selector_columns_hold_out(&task->queue->columns, first, wants_held_out(task),
                                         task->mask, err);
    if (holdout != NULL)
        selector_holdout_mask(holdout, first, wants_held_out(task), task->mask);
    return WEIR_OK;
}

/* Withholds the samples that the policy never chooses: a model of the holdout learns from them. */
static void withhold(struct selector_task *task, uint64_t first)
{
    const struct selector_holdout *withheld = &task->pipeline->section->withheld;
    if (withheld->bound == 0 || !is_training(task))
        return;
    uint64_t held[SELECTOR_MASK_WORDS];
    memcpy(held, task->mask, sizeof(held));
    selector_holdout_mask(withheld, first, true, held);
    selector_holdout_mask(withheld, first, false, task->mask);
    selector_set_append(&task->candidates.withheld, first, held);
}

static void request_columns(struct selector_task *task, uint64_t first, uint32_t rows)
{
    const struct msg_columns_read read = {.first = first, .count = rows};
    weir_rpc_call(task->queue->storage, MSG_columns_read, &read, SELECTOR_STORAGE_MS, on_columns,
                  task);
}

/* False: storage was asked first, or the task is over. */
static bool gather_block(struct selector_task *task, size_t index)
{
    const struct selector_pipeline *pipeline = task->pipeline;
    struct selector_columns *columns = &task->queue->columns;
    uint64_t dataset = pipeline->datasets[index];
    uint64_t first = weir_sample_id((uint32_t)dataset, (uint32_t)task->block, 0);
    uint32_t rows = selector_pool_rows(&pipeline->pool, dataset, task->block);
    struct weir_error err;
    if (selector_pool_mask(&pipeline->pool, dataset, task->block, task->after[index],
                           task->positions.at[index], task->mask) == 0)
        return true;
    bool with_columns = needs_columns(task, index);
    if (with_columns && !selector_columns_have(columns, first, rows)) {
        request_columns(task, first, rows);
        return false;
    }
    enum weir_status status = hold_out(task, index, first, &err);
    if (status == WEIR_OK && with_columns)
        status = selector_window_mask(&task->window, columns, first, task->mask, &err);
    if (status != WEIR_OK) {
        selector_task_fail(task, &err);
        return false;
    }
    withhold(task, first);
    selector_set_append(&task->candidates.all, first, task->mask);
    return true;
}

/* True when training sets are not chosen from it, and one is being chosen. */
static bool is_left_out(const struct selector_task *task, size_t index)
{
    const struct selector_section *section = task->pipeline->section;
    return is_training(task) && index < section->dataset_count && !section->are_selected[index];
}

void selector_step_gather(struct selector_task *task)
{
    const struct selector_pipeline *pipeline = task->pipeline;
    for (; task->dataset < pipeline->dataset_count; task->dataset++, task->block = 0) {
        size_t index = pipeline->ascending[task->dataset];
        size_t blocks = is_left_out(task, index)
                            ? 0
                            : selector_pool_blocks(&pipeline->pool, pipeline->datasets[index]);
        for (; task->block < blocks; task->block++)
            if (!gather_block(task, index))
                return;
    }
    task->phase = SELECTOR_CHOOSE;
    task->queue->step(task);
}
