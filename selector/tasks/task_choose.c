/* What the policy is told of the candidates, and its choice. */
#include "selector/tasks/task_steps.h"

#include <stdio.h>

/* Where the columns of the candidates come from; `ends` is filled when they are needed. */
static enum weir_status find_sources(struct selector_task *task, struct selector_ends *ends,
                                     struct selector_sources *ret_sources, struct weir_error *err)
{
    struct selector *selector = task->selector;
    struct selector_pipeline *pipeline = task->pipeline;
    uint64_t trigger = task->asked.select.trigger;
    unsigned needs = pipeline->section->needs;
    bool needs_ends = (needs & SELECTION_NEEDS_TRIGGERS) || task->kind == SELECTOR_PREVIEW;
    enum weir_status status = WEIR_OK;
    if (needs_ends)
        status = selector_ends_read(selector->db, pipeline, trigger, ends, err);
    if (!status && (needs & SELECTION_NEEDS_PAST))
        status = selector_history_reach(&pipeline->history, selector->db, selector->data_dir,
                                        task->pipeline_name, trigger, err);
    *ret_sources = (struct selector_sources){
        .columns = &selector->columns,
        .pipeline = pipeline,
        .ends = needs_ends ? ends : NULL,
        .history = &pipeline->history,
    };
    return status;
}

enum weir_status selector_task_choose(struct selector_task *task, struct selector_sealed *sealed,
                                      struct weir_error *err)
{
    const struct selector_pipeline *pipeline = task->pipeline;
    const struct selector_section *section = pipeline->section;
    struct selector_choosing choosing = {
        .section = section,
        .pipeline = pipeline->name,
        .trigger = task->asked.select.trigger,
        .datasets = pipeline->datasets,
        .dataset_count = pipeline->dataset_count,
    };
    sealed->seed = section->seed;
    (void)snprintf(sealed->policy, sizeof sealed->policy, "%s", section->policy->name);
    enum weir_status status = find_sources(task, &task->ends, &task->sources, err);
    if (status)
        return status;
    if (section->policy->scored && choosing.trigger > section->warmup)
        return selector_task_choose_scored(task, &choosing, sealed, err);
    if (section->needs & SELECTION_NEEDS_LOSSES) {
        choosing.losses = weir_arena_alloc(task->arena, sizeof *choosing.losses);
        status = selector_task_find_losses(task, choosing.losses, sealed->scored_by, err);
    }
    return status ? status
                  : selector_candidates_choose(&task->candidates, &choosing, &task->sources,
                                               sealed->reason, err);
}
