/* The steps by phase. */
#include "selector/tasks/task_steps.h"

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
