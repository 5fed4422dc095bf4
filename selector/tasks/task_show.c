/* SHOW: the choice of a preview is told by group, and forgotten. */
#include "selector/preview.h"
#include "selector/tasks/task_steps.h"

#include "core/base/memory.h"

#include <string.h>

void selector_step_show(struct selector_task *task)
{
    struct selector_sealed sealed = {.candidates = task->candidates.count};
    struct weir_error err;
    WEIR_AUTO_FREE uint64_t *ids = weir_calloc(task->candidates.count + 1, sizeof *ids);
    if (task->candidates.count > 0)
        memcpy(ids, task->candidates.ids, task->candidates.count * sizeof *ids);
    if (selector_task_choose(task, &sealed, &err) != WEIR_OK) {
        selector_task_fail(task, &err);
        return;
    }
    struct selector_preview groups = {0};
    selector_preview_make(&groups, task->pipeline->section, &task->candidates, ids,
                          sealed.candidates);
    const struct msg_preview_is answer = {
        .trigger = task->asked.select.trigger,
        .policy = sealed.policy,
        .samples = task->candidates.count,
        .candidates = sealed.candidates,
        .reason = sealed.reason,
        .kinds = {groups.kinds, groups.count},
        .names = {(const char *const *)groups.names, groups.count},
        .group_samples = {groups.samples, groups.count},
        .group_candidates = {groups.candidates, groups.count},
        .whys = {groups.whys, groups.count},
    };
    selector_task_answer_preview(task, &answer);
    selector_preview_fini(&groups);
}
