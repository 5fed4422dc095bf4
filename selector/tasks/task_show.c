/* SHOW: answers with the choice of a preview by group, and forgets it. */
#include "selector/tasks/task_steps.h"

#include "selector/tasks/task_endings.h"

void selector_step_show(struct selector_task *task)
{
    const struct selector_preview *groups = &task->preview;
    const struct msg_preview_is answer = {
        .trigger = task->asked.select.trigger,
        .policy = task->sealed.policy,
        .samples = task->candidates.chosen.count,
        .candidates = task->sealed.candidates,
        .reason = task->sealed.reason,
        .kinds = {groups->kinds, groups->count},
        .names = {(const char *const *)groups->names, groups->count},
        .group_samples = {groups->samples, groups->count},
        .group_candidates = {groups->candidates, groups->count},
        .whys = {groups->whys, groups->count},
        .scored_by = task->sealed.scored_by,
        .unscored = task->model_request.trains ? task->candidates.chosen.count
                                               : task->model_request.unscored.count,
        .held_out = task->model_request.trains ? task->model_request.candidates : 0,
    };
    selector_task_answer_preview(task, &answer);
}
