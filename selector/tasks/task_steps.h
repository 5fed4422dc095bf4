/* The steps of a task, one file each. A step goes on until storage has to be asked, the reply goes
 * on with it; it ends by stepping the task into its next phase, or by ending the task. CHOOSE goes
 * on when its thread is through. */
#ifndef SELECTOR_TASKS_TASK_STEPS_H
#define SELECTOR_TASKS_TASK_STEPS_H

#include "selector/tasks/task.h"

enum { SELECTOR_STORAGE_MS = 20000 };

void selector_step_start(struct selector_task *task);
void selector_step_advance(struct selector_task *task);
void selector_step_gather(struct selector_task *task);
void selector_step_choose(struct selector_task *task);
void selector_step_seal(struct selector_task *task);
void selector_step_show(struct selector_task *task);
void selector_step_purge(struct selector_task *task);

/* ---- what several steps need ---- */

/* Fails the task when memory may be behind or ahead of Postgres now: the pipeline is loaded anew. */
void selector_task_forget(struct selector_task *task, const struct weir_error *err);
/* True when storage refused; then the task is over. A silent storage is a passing trouble; what it refuses is its
 * answer. */
bool selector_task_refused(struct selector_task *task, const struct weir_reply *reply,
                           const struct weir_error *err);
/* Whether a row says what was answered. A holdout's set follows from the question alone. */
bool selector_task_is_recorded(const struct selector_task *task);
/* On the thread: chooses of the candidates by scores; `sealed` learns reason and model. When samples have no score
 * that is needed, the task's wish names them, and what is chosen are the presampled. */
enum weir_status selector_task_choose_scored(struct selector_task *task,
                                             const struct selector_choosing *choosing,
                                             struct selector_sealed *sealed,
                                             struct weir_error *err);
/* On the thread, for a policy by losses; `ret_model` (SELECTOR_MODEL_MAX) becomes whose losses
 * decide its shares, empty: nobody's. */
enum weir_status selector_task_find_losses(struct selector_task *task,
                                           struct selection_losses *losses, char *ret_model,
                                           struct weir_error *err) WEIR_MUST_USE;
/* Ends the task by asking whoever waits for what its wish says. */
void selector_task_wish(struct selector_task *task);

#endif
