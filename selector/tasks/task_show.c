/* SHOW: the choice of a preview is told by group, and forgotten. */
#include "selector/preview.h"
#include "selector/tasks/task_steps.h"

void selector_step_show(struct selector_task *task)
{
    struct selector_sealed sealed = {.candidates = task->candidates.all.count};
    struct selector_preview groups = {0};
    struct weir_error err;
    enum weir_status status = selector_task_choose(task, &sealed, &err);
    if (!status)
        status = selector_preview_make(&groups, task->pipeline->section, &task->candidates,
                                       &task->sources, &err);
    if (status) {
        selector_task_fail(task, &err);
        selector_preview_fini(&groups);
        return;
    }
    const struct msg_preview_is answer = {
        .trigger = task->asked.select.trigger,
        .policy = sealed.policy,
        .samples = task->candidates.chosen.count,
        .candidates = sealed.candidates,
        .reason = sealed.reason,
        .kinds = {groups.kinds, groups.count},
        .names = {(const char *const *)groups.names, groups.count},
        .group_samples = {groups.samples, groups.count},
        .group_candidates = {groups.candidates, groups.count},
        .whys = {groups.whys, groups.count},
        .scored_by = sealed.scored_by,
        .unscored = task->wish.unscored.count,
    };
    selector_task_answer_preview(task, &answer);
    selector_preview_fini(&groups);
}
