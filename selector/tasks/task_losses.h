/* Losses that a policy goes by. */
#ifndef SELECTOR_TASKS_TASK_LOSSES_H
#define SELECTOR_TASKS_TASK_LOSSES_H

#include "selector/tasks/task.h"

/* On the thread, for a policy by losses; `ret_model` (SELECTOR_MODEL_MAX) becomes the model
 * whose losses decide its shares, empty: none. */
enum weir_status selector_task_find_losses(struct selector_task *task,
                                           struct selection_losses *losses, char *ret_model,
                                           struct weir_error *err) WEIR_MUST_USE;

#endif
