/* The queue of tasks, and how requests become tasks. */
#include "selector/tasks/task_queue.h"

#include "core/base/memory.h"
#include "selector/tasks/task_freeze.h"

#include <stdlib.h>
#include <string.h>

/* ---- the queue ---- */

static void task_free(struct selector_task *task)
{
    selector_task_forget_choice(task);
    if (task->thread != NULL)
        task->thread->is_taken = false;
    weir_arena_free(task->arena);
    free(task);
}

static bool chooses(const struct selector_task *task)
{
    return task->kind == SELECTOR_SELECT || task->kind == SELECTOR_INTERVAL ||
           task->kind == SELECTOR_PREVIEW;
}

static struct selector_thread *find_thread(struct selector_queue *queue)
{
    for (size_t i = 0; i < SELECTOR_THREADS; i++)
        if (!queue->threads[i].is_taken)
            return &queue->threads[i];
    return NULL;
}

/* A selection needs to know how the one before it ended. */
static bool follows_another(const struct selector_task *task)
{
    const struct selector_task *other = TAILQ_FIRST(&task->queue->tasks);
    while (other != task && (other->kind != task->kind ||
                             !weir_str_equal(other->pipeline_name, task->pipeline_name)))
        other = TAILQ_NEXT(other, link);
    return other != task;
}

static bool may_start(struct selector_task *task)
{
    return task->phase == SELECTOR_START &&
           (!chooses(task) || task->thread != NULL ||
            (!follows_another(task) && find_thread(task->queue) != NULL));
}

static void step_next(void *owner)
{
    struct selector_queue *queue = owner;
    struct selector_task *task;
    queue->next_timer = 0;
    TAILQ_FOREACH (task, &queue->tasks, link)
        if (may_start(task))
            break;
    if (task == NULL || queue->stepping != NULL)
        return;
    if (chooses(task) && task->thread == NULL) {
        task->thread = find_thread(queue);
        task->thread->is_taken = true;
    }
    queue->stepping = task;
    queue->step(task);
}

static void look_for_next(struct selector_queue *queue)
{
    if (!TAILQ_EMPTY(&queue->tasks) && queue->next_timer == 0)
        queue->next_timer = weir_loop_timer(queue->loop, 0, 0, step_next, queue);
}

static void wipe_if_idle(struct selector_queue *queue)
{
    if (!queue->is_wiping || queue->stepping != NULL)
        return;
    queue->is_wiping = false;
    selector_columns_clear(&queue->columns);
}

void selector_queue_wipe(struct selector_queue *queue)
{
    queue->is_wiping = true;
    wipe_if_idle(queue);
}

void selector_task_yield(struct selector_task *task)
{
    if (task->queue->stepping == task)
        task->queue->stepping = NULL;
    wipe_if_idle(task->queue);
    look_for_next(task->queue);
}

void selector_task_end(struct selector_task *task)
{
    struct selector_queue *queue = task->queue;
    TAILQ_REMOVE(&queue->tasks, task, link);
    queue->count--;
    selector_task_yield(task);
    task_free(task);
    if (queue->count == 0)
        selector_columns_trim(&queue->columns);
}

static struct selector_task *task_new(struct selector_queue *queue, enum selector_task_kind kind)
{
    struct selector_task *task = weir_calloc(1, sizeof(*task));
    task->queue = queue;
    task->kind = kind;
    task->arena = weir_arena_new();
    return task;
}

static void enqueue(struct selector_task *task)
{
    struct selector_queue *queue = task->queue;
    TAILQ_INSERT_TAIL(&queue->tasks, task, link);
    queue->count++;
    look_for_next(queue);
}

static bool same_request(const struct selector_task *a, const struct selector_task *b)
{
    if (a->kind != b->kind || !weir_str_equal(a->pipeline_name, b->pipeline_name))
        return false;
    switch (a->kind) {
    case SELECTOR_OPEN:
        return weir_bytes_equal(a->asked.open.config, b->asked.open.config);
    case SELECTOR_FOLLOW:
    case SELECTOR_FORGET:
        return true;
    case SELECTOR_PREVIEW:
        return a->positions.count == b->positions.count &&
               memcmp(a->positions.at, b->positions.at, a->positions.count * 8) == 0;
    case SELECTOR_SELECT:
        return a->asked.select.trigger == b->asked.select.trigger &&
               a->asked.select.round == b->asked.select.round;
    case SELECTOR_INTERVAL:
        return a->asked.interval.from_time == b->asked.interval.from_time &&
               a->asked.interval.to_time == b->asked.interval.to_time &&
               a->asked.interval.holdout == b->asked.interval.holdout &&
               a->positions.count == b->positions.count &&
               memcmp(a->positions.at, b->positions.at, a->positions.count * 8) == 0;
    }
    return false;
}

/* Queues `task` unless the same is waiting, or there are too many. */
static void submit(struct selector_task *task)
{
    struct selector_queue *queue = task->queue;
    struct selector_task *other;
    TAILQ_FOREACH (other, &queue->tasks, link) {
        if (!same_request(other, task))
            continue;
        other->route = task->route;
        task_free(task);
        return;
    }
    if (queue->count < SELECTOR_TASKS_MAX) {
        enqueue(task);
        return;
    }
    struct weir_error err;
    weir_ignore(weir_fail(&err, WEIR_UNAVAILABLE, "the selector is busy with %d requests",
                          SELECTOR_TASKS_MAX)); /* the error carries the status */
    if (task->kind != SELECTOR_FOLLOW)
        weir_rpc_refuse(queue->server, &task->route, &err);
    task_free(task);
}

bool selector_task_is_busy_with(const struct selector_queue *queue, const char *pipeline)
{
    const struct selector_task *task;
    TAILQ_FOREACH (task, &queue->tasks, link)
        if (weir_str_equal(task->pipeline_name, pipeline))
            return true;
    return false;
}

/* ---- requests become tasks ---- */

static const char *keep_text(struct selector_task *task, const char *text)
{
    return weir_arena_strndup(task->arena, text, strlen(text));
}

static struct weir_u64s keep_numbers(struct selector_task *task, struct weir_u64s numbers)
{
    if (numbers.count > 0)
        numbers.at = weir_arena_copy(task->arena, numbers.at, numbers.count * sizeof(*numbers.at));
    return numbers;
}

static struct weir_strs keep_texts(struct selector_task *task, struct weir_strs texts)
{
    const char **kept = weir_arena_alloc(task->arena, (texts.count + 1) * sizeof(*kept));
    for (size_t i = 0; i < texts.count; i++)
        kept[i] = keep_text(task, texts.at[i]);
    return (struct weir_strs){kept, texts.count};
}

void selector_task_open(struct selector_queue *queue, const struct weir_request *request)
{
    struct selector_task *task = task_new(queue, SELECTOR_OPEN);
    struct msg_selection_open *asked = &task->asked.open;
    *asked = *(const struct msg_selection_open *)request->message;
    asked->pipeline = task->pipeline_name = keep_text(task, asked->pipeline);
    asked->file = keep_text(task, asked->file);
    if (asked->config.size > 0)
        asked->config.at = weir_arena_copy(task->arena, asked->config.at, asked->config.size);
    asked->datasets = keep_numbers(task, asked->datasets);
    asked->tenant = keep_text(task, asked->tenant);
    task->route = request->route;
    submit(task);
}

void selector_task_select(struct selector_queue *queue, const struct weir_request *request)
{
    struct selector_task *task = task_new(queue, SELECTOR_SELECT);
    struct msg_select *asked = &task->asked.select;
    *asked = *(const struct msg_select *)request->message;
    asked->pipeline = task->pipeline_name = keep_text(task, asked->pipeline);
    asked->positions = task->positions = keep_numbers(task, asked->positions);
    asked->model = keep_text(task, asked->model);
    asked->holdouts = keep_texts(task, asked->holdouts);
    task->route = request->route;
    submit(task);
}

void selector_task_interval(struct selector_queue *queue, const struct weir_request *request)
{
    struct selector_task *task = task_new(queue, SELECTOR_INTERVAL);
    struct msg_interval_seal *asked = &task->asked.interval;
    *asked = *(const struct msg_interval_seal *)request->message;
    asked->pipeline = task->pipeline_name = keep_text(task, asked->pipeline);
    asked->positions = task->positions = keep_numbers(task, asked->positions);
    task->route = request->route;
    submit(task);
}

void selector_task_preview(struct selector_queue *queue, const struct weir_request *request)
{
    struct selector_task *task = task_new(queue, SELECTOR_PREVIEW);
    const struct msg_preview *asked = request->message;
    task->pipeline_name = keep_text(task, asked->pipeline);
    task->positions = keep_numbers(task, asked->positions);
    task->asked.select = (struct msg_select){.pipeline = task->pipeline_name,
                                             .until_time = INT64_MAX,
                                             .until_id = UINT64_MAX,
                                             .model = keep_text(task, asked->model)};
    task->route = request->route;
    submit(task);
}

void selector_task_purge(struct selector_queue *queue, const struct weir_request *request)
{
    struct selector_task *task = task_new(queue, SELECTOR_FORGET);
    const struct msg_scores_purge *asked = request->message;
    task->pipeline_name = keep_text(task, asked->pipeline);
    task->route = request->route;
    submit(task);
}

void selector_task_follow(struct selector_queue *queue, const char *pipeline)
{
    struct selector_task *task = task_new(queue, SELECTOR_FOLLOW);
    task->pipeline_name = keep_text(task, pipeline);
    submit(task);
}

void selector_task_drop_all(struct selector_queue *queue)
{
    while (!TAILQ_EMPTY(&queue->tasks)) {
        struct selector_task *task = TAILQ_FIRST(&queue->tasks);
        TAILQ_REMOVE(&queue->tasks, task, link);
        weir_work_stop(task->work);
        task->work = NULL;
        task_free(task);
    }
    queue->count = 0;
    queue->stepping = NULL;
}
