/* Inputs of a choice, held still while its thread reads them. */
#ifndef SELECTOR_TASKS_TASK_FREEZE_H
#define SELECTOR_TASKS_TASK_FREEZE_H

#include "selector/tasks/task.h"

/* Fills the task's sources. */
void selector_task_freeze(struct selector_task *task);
/* Frees candidates, choice and everything held for it; there is no work. */
void selector_task_forget_choice(struct selector_task *task);

#endif
