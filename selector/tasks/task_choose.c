/* CHOOSE: what a policy chooses of the candidates, and the file it is sealed in, on a thread of its own. The loop goes
 * on meanwhile, so all that the thread looks at is held still first: a view of the columns, and of the pipeline its
 * section, its history and, where candidates are told by the trigger that brought them, a copy of its pool. */
#include "selector/tasks/task_steps.h"

#include "core/base/clock.h"
#include "core/base/log.h"

#include <stdio.h>

enum { PROGRESS_MS = 5000 };

/* ---- holding still ---- */

static bool needs_ends(const struct selector_task *task)
{
    return task->kind == SELECTOR_PREVIEW ||
           (task->kind == SELECTOR_SELECT &&
            (task->pipeline->section->needs & SELECTION_NEEDS_TRIGGERS));
}

static void hold(struct selector_task *task)
{
    struct selector_pipeline *pipeline = selector_pipeline_ref(task->pipeline);
    task->frozen = *pipeline;
    pipeline->history = (struct selector_history){.warmup = pipeline->section->warmup};
    task->frozen.pool = (struct selector_pool){0};
    if (needs_ends(task) && !pipeline->replay)
        selector_pool_copy(&pipeline->pool, &task->frozen.pool);
    selector_columns_view(&task->queue->columns, &task->columns);
    task->sources = (struct selector_sources){
        .columns = &task->columns,
        .pipeline = &task->frozen,
        .ends = needs_ends(task) ? &task->ends : NULL,
        .history = &task->frozen.history,
    };
}

/* Whoever knows more of the earlier sets keeps it. */
static void give_back_history(struct selector_task *task)
{
    struct selector_history *own = &task->frozen.history;
    struct selector_history *theirs = &task->pipeline->history;
    if (own->upto > theirs->upto) {
        struct selector_history less = *theirs;
        *theirs = *own;
        *own = less;
    }
    selector_history_fini(own);
}

static void let_go(struct selector_task *task)
{
    if (task->frozen.refs == 0)
        return; /* nothing is held */
    give_back_history(task);
    selector_pool_fini(&task->frozen.pool);
    selector_columns_unview(&task->queue->columns, &task->columns);
    selector_pipeline_unref(task->pipeline);
    task->frozen = (struct selector_pipeline){0};
}

void selector_task_forget_choice(struct selector_task *task)
{
    let_go(task);
    selector_candidates_fini(&task->candidates);
    selector_set_fini(&task->wish.unscored);
    selector_ends_fini(&task->ends);
    selector_preview_fini(&task->preview);
    task->wish = (struct selector_wish){0};
    task->sealed = (struct selector_sealed){0};
}

/* ---- on the thread ---- */

struct watch {
    struct weir_work *work;
    const struct selector_task *task;
    int64_t told_ms;
};

static bool tell_progress(void *owner, size_t done, size_t total)
{
    struct watch *watch = owner;
    int64_t now_ms = weir_now_ms();
    if (now_ms - watch->told_ms >= PROGRESS_MS) {
        watch->told_ms = now_ms;
        weir_log(WEIR_LOG_INFO, "choosing", "pipeline=%s policy=%s done=%zu of=%zu",
                 watch->task->pipeline_name, watch->task->sealed.policy, done, total);
    }
    return weir_work_goes_on(watch->work, done, total);
}

static enum weir_status learn_past(struct selector_task *task, struct weir_error *err)
{
    const struct selector_queue *queue = task->queue;
    uint64_t trigger = task->asked.select.trigger;
    enum weir_status status = WEIR_OK;
    if (needs_ends(task))
        status = selector_ends_read(task->lane->db, &task->frozen, trigger, &task->ends, err);
    if (!status && (task->frozen.section->needs & SELECTION_NEEDS_PAST))
        status = selector_history_reach(&task->frozen.history, task->lane->db, queue->data_dir,
                                        task->pipeline_name, trigger, err);
    return status;
}

static enum weir_status choose_for_trigger(struct selector_task *task, struct weir_error *err)
{
    const struct selector_pipeline *pipeline = &task->frozen;
    const struct selector_section *section = pipeline->section;
    struct selector_sealed *sealed = &task->sealed;
    struct selector_choosing choosing = {
        .section = section,
        .pipeline = pipeline->name,
        .trigger = task->asked.select.trigger,
        .datasets = pipeline->datasets,
        .dataset_count = pipeline->dataset_count,
    };
    sealed->seed = section->seed;
    (void)snprintf(sealed->policy, sizeof sealed->policy, "%s", section->policy->name);
    enum weir_status status = learn_past(task, err);
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

static void choose_interval(struct selector_task *task)
{
    struct selector_sealed *sealed = &task->sealed;
    char from[WEIR_TIME_TEXT_MAX];
    char to[WEIR_TIME_TEXT_MAX];
    weir_time_format(task->asked.interval.from_time, from);
    weir_time_format(task->asked.interval.to_time, to);
    (void)snprintf(sealed->policy, sizeof sealed->policy, "interval");
    selector_candidates_choose_all(&task->candidates);
    if (task->candidates.all.count == 0)
        (void)snprintf(sealed->reason, sizeof sealed->reason,
                       "there are no samples from %s until before %s", from, to);
}

/* What is wished for is a set like any other. */
static enum weir_status write_set(struct selector_task *task, struct weir_error *err)
{
    const struct selector_queue *queue = task->queue;
    bool wishes = task->wish.unscored.count > 0;
    const struct selector_sealing sealing = {
        .data_dir = queue->data_dir,
        .writer = (size_t)(task->lane - queue->lanes),
        .set = wishes ? &task->wish.unscored : &task->candidates.chosen,
        .weights = wishes ? NULL : task->candidates.weights,
        .parts = wishes ? NULL : &task->candidates.parts,
        .progress = task->sources.progress,
    };
    return selector_sealed_write(&sealing, wishes ? &task->wish.sealed : &task->sealed, err);
}

static enum weir_status choose(struct selector_task *task, struct weir_error *err)
{
    task->sealed.candidates = task->candidates.all.count;
    enum weir_status status = WEIR_OK;
    if (task->kind == SELECTOR_INTERVAL)
        choose_interval(task);
    else
        status = choose_for_trigger(task, err);
    if (status)
        return status;
    if (task->kind == SELECTOR_PREVIEW)
        return selector_preview_make(&task->preview, task->frozen.section, &task->candidates,
                                     &task->sources, err);
    return write_set(task, err);
}

static void run(struct weir_work *work, void *owner)
{
    struct selector_task *task = owner;
    struct watch watch = {work, task, weir_now_ms()};
    task->sources.progress = (struct progress){tell_progress, &watch};
    task->status = choose(task, &task->err);
    task->sources.progress = (struct progress){0};
}

/* ---- on the loop ---- */

static void begin_anew(struct selector_task *task)
{
    weir_log(WEIR_LOG_INFO, "choice begun anew", "pipeline=%s: samples were erased meanwhile",
             task->pipeline_name);
    selector_task_forget_choice(task);
    task->is_overtaken = false;
    task->begun_anew++;
    task->dataset = task->block = 0;
    task->phase = SELECTOR_START;
    selector_task_yield(task);
}

/* A purge that waits for the thread to let go goes first. */
static void on_chosen(void *owner)
{
    struct selector_task *task = owner;
    struct selector_queue *queue = task->queue;
    task->work = NULL;
    if (task->is_overtaken) {
        begin_anew(task);
    } else if (task->status) {
        selector_task_fail(task, &task->err);
    } else {
        task->phase = task->kind == SELECTOR_PREVIEW ? SELECTOR_SHOW : SELECTOR_SEAL;
        selector_task_step(task);
    }
    if (queue->stepping && queue->stepping->phase == SELECTOR_PURGE)
        selector_task_step(queue->stepping);
}

void selector_step_choose(struct selector_task *task)
{
    struct selector_queue *queue = task->queue;
    struct weir_error err;
    hold(task);
    if (weir_work_start(queue->loop, run, on_chosen, task, &task->work, &err) != WEIR_OK)
        selector_task_fail(task, &err);
    else
        selector_task_yield(task);
}
