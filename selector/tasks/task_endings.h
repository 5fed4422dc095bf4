/* The endings of tasks. */
#ifndef SELECTOR_TASKS_TASK_ENDINGS_H
#define SELECTOR_TASKS_TASK_ENDINGS_H

#include "selector/tasks/task.h"

enum { SELECTOR_STORAGE_MS = 20000 };

void selector_task_answer(struct selector_task *task, const struct selector_sealed *sealed);
void selector_task_answer_preview(struct selector_task *task, const struct msg_preview_is *preview);
void selector_task_fail(struct selector_task *task, const struct weir_error *err);
/* Fails the task when memory may differ from Postgres now: the pipeline is loaded again. */
void selector_task_forget(struct selector_task *task, const struct weir_error *err);
/* True when storage refused; then the task is over. Silence of storage is a passing trouble; a refusal is its
 * answer. */
bool selector_task_refused(struct selector_task *task, const struct weir_reply *reply,
                           const struct weir_error *err);

#endif
