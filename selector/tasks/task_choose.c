/* What the policy is told of the candidates, and its choice. */
#include "selector/origin.h"
#include "selector/tasks/task_steps.h"

#include "core/base/memory.h"

#include <stdio.h>

static enum weir_status mark_triggers(struct selector_task *task, struct weir_error *err)
{
    struct selector_ends ends = {0};
    enum weir_status status = selector_ends_read(task->selector->db, task->pipeline,
                                                 task->asked.select.trigger, &ends, err);
    if (status)
        return status;
    selector_origin_mark(&task->candidates, task->pipeline, &ends);
    selector_ends_fini(&ends);
    return WEIR_OK;
}

static enum weir_status mark_past(struct selector_task *task, struct weir_error *err)
{
    struct selector_history *history = &task->pipeline->history;
    struct selector_candidates *candidates = &task->candidates;
    enum weir_status status =
        selector_history_reach(history, task->selector->db, task->selector->data_dir,
                               task->pipeline_name, task->asked.select.trigger, err);
    if (status)
        return status;
    candidates->past = weir_calloc(candidates->count + 1, sizeof *candidates->past);
    selector_history_mark(history, candidates->ids, candidates->count, candidates->past);
    return WEIR_OK;
}

enum weir_status selector_task_choose(struct selector_task *task, struct selector_sealed *sealed,
                                      struct weir_error *err)
{
    const struct selector_pipeline *pipeline = task->pipeline;
    const struct selector_section *section = pipeline->section;
    const struct selector_choosing choosing = {
        .section = section,
        .pipeline = pipeline->name,
        .trigger = task->asked.select.trigger,
        .datasets = pipeline->datasets,
        .dataset_count = pipeline->dataset_count,
    };
    enum weir_status status = WEIR_OK;
    sealed->seed = section->seed;
    (void)snprintf(sealed->policy, sizeof sealed->policy, "%s", section->policy->name);
    if (section->needs & SELECTION_NEEDS_TRIGGERS || task->kind == SELECTOR_PREVIEW)
        status = mark_triggers(task, err);
    if (!status && (section->needs & SELECTION_NEEDS_PAST))
        status = mark_past(task, err);
    if (!status)
        selector_candidates_choose(&task->candidates, &choosing, sealed->reason);
    return status;
}
