/* The queue of tasks: requests go in, and are stepped. A request that waits already is not queued twice: its answer
 * goes to the newest one. */
#ifndef SELECTOR_TASKS_TASK_QUEUE_H
#define SELECTOR_TASKS_TASK_QUEUE_H

#include "selector/tasks/task.h"

void selector_task_open(struct selector_queue *queue, const struct weir_request *request);
void selector_task_select(struct selector_queue *queue, const struct weir_request *request);
void selector_task_interval(struct selector_queue *queue, const struct weir_request *request);
void selector_task_preview(struct selector_queue *queue, const struct weir_request *request);
void selector_task_purge(struct selector_queue *queue, const struct weir_request *request);
/* Forgets the columns that are kept, as soon as the task that is stepped needs them no more. */
void selector_queue_wipe(struct selector_queue *queue);
/* Reads the feeds of a pipeline; without an answer. */
void selector_task_follow(struct selector_queue *queue, const char *pipeline);
/* True when a task for this pipeline is under way, or waits. */
bool selector_task_is_busy_with(const struct selector_queue *queue, const char *pipeline);
/* Forgets all tasks without answering them. */
void selector_task_drop_all(struct selector_queue *queue);

/* Stops stepping the task for now: others are stepped. */
void selector_task_yield(struct selector_task *task);
/* Ends a task without an answer. */
void selector_task_end(struct selector_task *task);

#endif
