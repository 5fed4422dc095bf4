/* CHOOSE: a policy's choice of the candidates, and the file it is sealed in, on a thread of its own. The loop goes
 * on meanwhile, so everything that the thread reads is frozen first. */
#include "selector/tasks/task_steps.h"

#include "core/base/clock.h"
#include "core/base/log.h"
#include "selector/tasks/task_endings.h"
#include "selector/tasks/task_freeze.h"
#include "selector/tasks/task_losses.h"
#include "selector/tasks/task_queue.h"
#include "selector/tasks/task_score.h"

#include <stdio.h>

enum { PROGRESS_MS = 5000 };

/* ---- on the thread ---- */

struct watch {
    struct weir_work *work;
    const struct selector_task *task;
    int64_t reported_ms;
};

static bool tell_progress(void *owner, size_t done, size_t total)
{
    struct watch *watch = owner;
    int64_t now_ms = weir_now_ms();
    if (now_ms - watch->reported_ms >= PROGRESS_MS) {
        watch->reported_ms = now_ms;
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
    if (task->sources.ends != NULL)
        status = selector_ends_read(task->thread->db, &task->frozen, trigger, &task->ends, err);
    if (status == WEIR_OK && (task->frozen.section->needs & SELECTION_NEEDS_PAST))
        status = selector_history_reach(&task->frozen.history, task->thread->db, queue->data_dir,
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
        .round = task->asked.select.round,
        .datasets = pipeline->datasets,
        .dataset_count = pipeline->dataset_count,
    };
    sealed->seed = section->seed;
    sealed->round = choosing.round;
    (void)snprintf(sealed->policy, sizeof(sealed->policy), "%s", section->policy->name);
    enum weir_status status = learn_past(task, err);
    if (status != WEIR_OK)
        return status;
    if (section->policy->scoring != NULL && choosing.trigger > section->warmup)
        return selector_task_choose_scored(task, &choosing, sealed, err);
    if (section->needs & SELECTION_NEEDS_LOSSES) {
        choosing.losses = weir_arena_alloc(task->arena, sizeof(*choosing.losses));
        status = selector_task_find_losses(task, choosing.losses, sealed->scored_by, err);
    }
    return status != WEIR_OK ? status
                             : selector_candidates_choose(&task->candidates, &choosing,
                                                          &task->sources, sealed->reason, err);
}

static void choose_interval(struct selector_task *task)
{
    struct selector_sealed *sealed = &task->sealed;
    char from[WEIR_TIME_TEXT_MAX];
    char to[WEIR_TIME_TEXT_MAX];
    weir_time_format(task->asked.interval.from_time, from);
    weir_time_format(task->asked.interval.to_time, to);
    (void)snprintf(sealed->policy, sizeof(sealed->policy), "interval");
    selector_candidates_choose_all(&task->candidates);
    if (task->candidates.all.count == 0)
        (void)snprintf(sealed->reason, sizeof(sealed->reason),
                       "there are no samples from %s until before %s", from, to);
}

/* Writes the choice, or the samples that a model has to score, as a sealed set. */
static enum weir_status write_set(struct selector_task *task, struct weir_error *err)
{
    const struct selector_queue *queue = task->queue;
    bool is_request = task->model_request.unscored.count > 0;
    const struct selector_sealing sealing = {
        .data_dir = queue->data_dir,
        .writer = (size_t)(task->thread - queue->threads),
        .set = is_request ? &task->model_request.unscored : &task->candidates.chosen,
        .weights = is_request ? NULL : task->candidates.weights,
        .parts = is_request ? NULL : &task->candidates.parts,
        .progress = task->sources.progress,
    };
    return selector_sealed_write(&sealing, is_request ? &task->model_request.sealed : &task->sealed,
                                 err);
}

static enum weir_status choose(struct selector_task *task, struct weir_error *err)
{
    task->sealed.candidates = task->candidates.all.count;
    enum weir_status status = WEIR_OK;
    if (task->kind == SELECTOR_INTERVAL)
        choose_interval(task);
    else
        status = choose_for_trigger(task, err);
    if (status != WEIR_OK)
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

static void begin_again(struct selector_task *task)
{
    weir_log(WEIR_LOG_INFO, "choice begun again", "pipeline=%s: samples were erased meanwhile",
             task->pipeline_name);
    selector_task_forget_choice(task);
    task->is_overtaken = false;
    task->restarts++;
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
        begin_again(task);
    } else if (task->status != WEIR_OK) {
        selector_task_fail(task, &task->err);
    } else {
        task->phase = task->kind == SELECTOR_PREVIEW ? SELECTOR_SHOW : SELECTOR_SEAL;
        queue->step(task);
    }
    if (queue->stepping != NULL && queue->stepping->phase == SELECTOR_PURGE)
        queue->step(queue->stepping);
}

void selector_step_choose(struct selector_task *task)
{
    struct selector_queue *queue = task->queue;
    struct weir_error err;
    selector_task_freeze(task);
    if (weir_work_start(queue->loop, run, on_chosen, task, &task->work, &err) != WEIR_OK)
        selector_task_fail(task, &err);
    else
        selector_task_yield(task);
}
