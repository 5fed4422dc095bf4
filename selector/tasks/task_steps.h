/* The steps of a task, one file each. A step goes on until storage has to be asked, the reply goes
 * on with it; it ends by stepping the task into its next phase, or by ending the task. CHOOSE goes
 * on when its thread is through. */
#ifndef SELECTOR_TASKS_TASK_STEPS_H
#define SELECTOR_TASKS_TASK_STEPS_H

#include "selector/tasks/task.h"

void selector_step_start(struct selector_task *task);
void selector_step_advance(struct selector_task *task);
void selector_step_gather(struct selector_task *task);
void selector_step_choose(struct selector_task *task);
void selector_step_seal(struct selector_task *task);
void selector_step_show(struct selector_task *task);
void selector_step_purge(struct selector_task *task);

/* Goes on until storage has to be asked, a thread has work to do, or the task is over. */
void selector_task_step(struct selector_task *task);

#endif
