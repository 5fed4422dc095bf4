/* Choices by scores, and the requests for scores that they lack. */
#ifndef SELECTOR_TASKS_TASK_SCORE_H
#define SELECTOR_TASKS_TASK_SCORE_H

#include "selector/tasks/task.h"

/* On the thread: chooses among the candidates by scores; `sealed` gets reason and model. When samples lack a score
 * that is needed, the task's model request holds them, and the presampled are chosen. */
enum weir_status selector_task_choose_scored(struct selector_task *task,
                                             const struct selector_choosing *choosing,
                                             struct selector_sealed *sealed,
                                             struct weir_error *err);
/* Ends the task by answering with its model request: samples to be scored or learnt from. */
void selector_task_request_model(struct selector_task *task);

#endif
