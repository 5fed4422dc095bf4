/* PURGE: the feeds are read to their end, so the pool knows what is gone; no score of that stays. */
#include "selector/scores/scores.h"
#include "selector/tasks/task_steps.h"

#include "core/base/log.h"

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

void selector_step_purge(struct selector_task *task)
{
    const struct selector_scores_store store = {
        .db = task->selector->db,
        .data_dir = task->selector->data_dir,
    };
    struct selector_set live = {0};
    struct msg_scores_noted noted = {0};
    struct weir_error err;
    find_live(task, &live);
    enum weir_status status =
        selector_scores_purge(&store, task->pipeline_name, &live, &noted.samples, &err);
    selector_set_fini(&live);
    if (status) {
        selector_task_fail(task, &err);
        return;
    }
    if (noted.samples > 0)
        weir_log(WEIR_LOG_INFO, "scores forgotten", "pipeline=%s samples=%" PRIu64,
                 task->pipeline_name, noted.samples);
    weir_rpc_reply(task->selector->server, &task->route, MSG_scores_noted, &noted, NULL);
    selector_task_end(task);
}
