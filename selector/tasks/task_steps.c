/* Which step a phase is, and what several steps need. */
#include "selector/tasks/task_steps.h"

void selector_task_forget(struct selector_task *task, const struct weir_error *err)
{
    selector_pipelines_forget(&task->queue->pipelines, task->pipeline_name);
    selector_task_fail(task, err);
}

bool selector_task_is_recorded(const struct selector_task *task)
{
    return task->kind == SELECTOR_SELECT ||
           (task->kind == SELECTOR_INTERVAL && !task->asked.interval.holdout);
}

bool selector_task_refused(struct selector_task *task, const struct weir_reply *reply,
                           const struct weir_error *err)
{
    struct weir_error own;
    if (reply)
        return false;
    own = *err;
    if (own.status == WEIR_TIMEOUT)
        weir_ignore(weir_fail(&own, WEIR_UNAVAILABLE, "storage does not answer")); /* same */
    selector_task_fail(task, &own);
    return true;
}

void selector_task_step(struct selector_task *task)
{
    static void (*const steps[])(struct selector_task *) = {
        [SELECTOR_START] = selector_step_start,   [SELECTOR_ADVANCE] = selector_step_advance,
        [SELECTOR_GATHER] = selector_step_gather, [SELECTOR_CHOOSE] = selector_step_choose,
        [SELECTOR_SEAL] = selector_step_seal,     [SELECTOR_SHOW] = selector_step_show,
        [SELECTOR_PURGE] = selector_step_purge,
    };
    steps[task->phase](task);
}
