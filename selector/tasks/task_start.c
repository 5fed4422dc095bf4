/* START: the request is answered again, refused, or planned: which window of which datasets. */
#include "selector/tasks/task_steps.h"

#include "core/base/memory.h"
#include "selector/tasks/task_endings.h"
#include "selector/tasks/task_queue.h"

#include <string.h>

static void start_open(struct selector_task *task)
{
    struct selector_queue *queue = task->queue;
    struct weir_error err;
    if (selector_pipeline_store(queue->db, &task->asked.open, &err) != WEIR_OK) {
        selector_task_forget(task, &err);
        return;
    }
    selector_pipelines_forget(&queue->pipelines, task->pipeline_name);
    weir_rpc_reply(queue->server, &task->route, MSG_selection_opened, NULL, NULL);
    selector_task_follow(queue, task->pipeline_name);
    selector_task_end(task);
}

/* True when the request was answered before; then the task is over. */
static bool answer_again(struct selector_task *task)
{
    struct selector_sealed sealed;
    struct weir_error err;
    struct weir_db *db = task->queue->db;
    enum weir_status status =
        task->kind == SELECTOR_SELECT
            ? selector_sealed_find_trigger(db, task->pipeline_name, task->asked.select.trigger,
                                           task->asked.select.round, &sealed, &err)
            : selector_sealed_find_interval(db, &task->asked.interval, &sealed, &err);
    if (status == WEIR_NOT_FOUND)
        return false;
    if (status != WEIR_OK)
        selector_task_fail(task, &err);
    else
        selector_task_answer(task, &sealed);
    return true;
}

/* Finds the beginning of this trigger's candidates: after the last trigger that is not in the tail. */
static enum weir_status find_beginning(struct selector_task *task, struct weir_error *err)
{
    const struct selector_pipeline *pipeline = task->pipeline;
    const struct selector_section *section = pipeline->section;
    uint64_t trigger = task->asked.select.trigger;
    if (section->tail == UINT64_MAX || trigger <= section->tail + 1)
        return WEIR_OK;
    struct selector_boundary boundary = {.position_count = pipeline->dataset_count};
    enum weir_status status = selector_sealed_boundary(
        task->queue->db, pipeline->name, trigger - 1 - section->tail, task->after, &boundary, err);
    if (status != WEIR_OK || !pipeline->replay)
        return status;
    memset(task->after, 0, pipeline->dataset_count * sizeof(*task->after));
    task->window.after_time = boundary.until_time;
    task->window.after_id = boundary.until_id;
    return WEIR_OK;
}

static enum weir_status plan(struct selector_task *task, struct weir_error *err)
{
    const struct selector_pipeline *pipeline = task->pipeline;
    size_t count = pipeline->dataset_count;
    task->heads = weir_arena_alloc(task->arena, (count + 1) * sizeof(*task->heads));
    task->after = weir_arena_alloc(task->arena, (count + 1) * sizeof(*task->after));
    for (size_t i = 0; i < count; i++)
        task->heads[i] = UINT64_MAX;
    if (task->kind == SELECTOR_FOLLOW || task->kind == SELECTOR_FORGET)
        return WEIR_OK;
    if (task->positions.count != count)
        return weir_fail(err, WEIR_INVALID,
                         "pipeline '%s': expected a position for each of its %zu datasets, found "
                         "%zu",
                         pipeline->name, count, task->positions.count);
    task->window = (struct selector_window){
        .after_time = INT64_MIN, .upto_time = INT64_MAX, .upto_id = UINT64_MAX};
    if (task->kind == SELECTOR_INTERVAL) {
        const struct msg_interval_seal *asked = &task->asked.interval;
        if (asked->from_time >= asked->to_time || asked->from_time == INT64_MIN)
            return weir_fail(err, WEIR_INVALID, "expected an interval that ends after it begins");
        task->window.after_time = asked->from_time - 1;
        task->window.after_id = UINT64_MAX;
        task->window.upto_time = asked->to_time - 1;
        return WEIR_OK;
    }
    if (task->kind == SELECTOR_PREVIEW) {
        enum weir_status status =
            selector_sealed_last(task->queue->db, pipeline->name, &task->asked.select.trigger, err);
        if (status != WEIR_OK)
            return status;
        task->asked.select.trigger++;
    }
    if (task->asked.select.trigger == 0)
        return weir_fail(err, WEIR_INVALID, "triggers are counted from 1, found 0");
    if (pipeline->replay) {
        task->window.upto_time = task->asked.select.until_time;
        task->window.upto_id = task->asked.select.until_id;
    }
    return find_beginning(task, err);
}

void selector_step_start(struct selector_task *task)
{
    if (task->kind == SELECTOR_OPEN) {
        start_open(task);
        return;
    }
    if (selector_task_is_recorded(task) && answer_again(task))
        return;
    struct weir_error err;
    enum weir_status status = selector_pipelines_find(&task->queue->pipelines, task->pipeline_name,
                                                      &task->pipeline, &err);
    if (status == WEIR_OK)
        status = plan(task, &err);
    if (status != WEIR_OK) {
        selector_task_fail(task, &err);
        return;
    }
    task->phase = SELECTOR_ADVANCE;
    task->queue->step(task);
}
