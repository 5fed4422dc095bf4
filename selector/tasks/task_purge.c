/* PURGE: the feeds are read to their end, so the pool knows what is gone; no score of that stays, nor does a choice
 * that is being made go on with it. */
#include "selector/scores/scores.h"
#include "selector/tasks/task_steps.h"

#include "core/base/log.h"
#include "selector/tasks/task_endings.h"
#include "selector/tasks/task_queue.h"

#include <inttypes.h>

static void find_live(struct selector_task *task, struct selector_set *live)
{
    const struct selector_pipeline *pipeline = task->pipeline;
    for (size_t i = 0; i < pipeline->dataset_count; i++) {
        uint64_t dataset = pipeline->datasets[pipeline->ascending[i]];
        size_t blocks = selector_pool_blocks(&pipeline->pool, dataset);
        for (size_t block = 0; block < blocks; block++) {
            uint64_t first = weir_sample_id((uint32_t)dataset, (uint32_t)block, 0);
            if (selector_pool_mask(&pipeline->pool, dataset, block, 0, UINT64_MAX, task->mask) > 0)
                selector_set_append(live, first, task->mask);
        }
    }
}

static bool holds_gone(const struct selector_task *task, const struct selector_task *other,
                       const struct selector_set *live)
{
    struct selector_set gone = {0};
    if (task->queue->columns.hole_count > 0)
        return true; /* rows of somebody's were dropped while it looked */
    if (!weir_str_equal(task->pipeline_name, other->pipeline_name))
        return false;
    selector_set_combine(&gone, SELECTOR_UNION, &other->candidates.all);
    selector_set_combine(&gone, SELECTOR_DIFFERENCE, live);
    bool holds = gone.count > 0;
    selector_set_fini(&gone);
    return holds;
}

/* Has choices that hold samples that are gone give up, and begin again without them. True: some still go on. */
static bool overtake(const struct selector_task *task, const struct selector_set *live)
{
    bool waits = false;
    struct selector_task *other;
    TAILQ_FOREACH (other, &task->queue->tasks, link) {
        if (other->work == NULL || other->restarts >= SELECTOR_RESTARTS_MAX ||
            !holds_gone(task, other, live))
            continue;
        other->is_overtaken = waits = true;
        weir_work_cancel(other->work);
    }
    return waits;
}

void selector_step_purge(struct selector_task *task)
{
    const struct selector_scores_store store = {
        .db = task->queue->db,
        .data_dir = task->queue->data_dir,
    };
    struct selector_set live = {0};
    struct msg_scores_noted noted = {0};
    struct weir_error err;
    find_live(task, &live);
    if (overtake(task, &live)) { /* stepped again when they have */
        selector_set_fini(&live);
        return;
    }
    enum weir_status status =
        selector_scores_purge(&store, task->pipeline_name, &live, &noted.samples, &err);
    selector_set_fini(&live);
    if (status != WEIR_OK) {
        selector_task_fail(task, &err);
        return;
    }
    if (noted.samples > 0)
        weir_log(WEIR_LOG_INFO, "scores forgotten", "pipeline=%s samples=%" PRIu64,
                 task->pipeline_name, noted.samples);
    weir_rpc_reply(task->queue->server, &task->route, MSG_scores_noted, &noted, NULL);
    selector_task_end(task);
}
