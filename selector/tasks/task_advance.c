/* ADVANCE: reads the feeds of the pipeline's datasets beyond what the task needs. */
#include "selector/tasks/task_steps.h"

#include "core/base/log.h"
#include "selector/tasks/task_endings.h"
#include "selector/tasks/task_queue.h"

#include <inttypes.h>

enum { FEED_ROWS = 8192 };

/* Cached columns of rows that changed are not only stale: they may be what must be forgotten. */
static void drop_columns(struct selector_queue *queue, const struct msg_feed_is *page)
{
    for (size_t i = 0; i < page->sequences.count; i++) {
        uint64_t first = page->firsts.at[i];
        uint64_t last = first + page->counts.at[i] - 1;
        for (uint64_t id = first - weir_sample_row(first);
             page->kinds.at[i] != WEIR_CHANGE_ADDED && id <= last; id += WEIR_BLOCK_ROWS)
            selector_columns_drop(&queue->columns, id);
    }
}

static enum weir_status check_reached(const struct selector_task *task, struct weir_error *err)
{
    uint64_t reached = task->pipeline->cursors[task->dataset];
    uint64_t wanted = task->positions.count == 0 ? 0 : task->positions.at[task->dataset];
    if (reached >= wanted)
        return WEIR_OK;
    return weir_fail(err, WEIR_INVALID,
                     "dataset %" PRIu64 ": position %" PRIu64
                     " was asked for, its newest change is %" PRIu64,
                     task->pipeline->datasets[task->dataset], wanted, reached);
}

/* Storage keeps no longer what follows the cursor: what the pool knows of the dataset goes, and comes again as
 * a snapshot. Sealed sets stay as they are. */
static void start_again(struct selector_task *task)
{
    struct selector_pipeline *pipeline = task->pipeline;
    uint64_t dataset = pipeline->datasets[task->dataset];
    struct weir_error err;
    weir_log(WEIR_LOG_INFO, "feed read again", "pipeline=%s dataset=%" PRIu64, pipeline->name,
             dataset);
    if (selector_pipeline_restart(pipeline, task->queue->db, task->dataset, &err) == WEIR_OK)
        weir_ignore(weir_fail(&err, WEIR_UNAVAILABLE,
                              "dataset %" PRIu64 ": the feed is read again from a snapshot",
                              dataset)); /* the status travels in err */
    selector_task_forget(task, &err);
}

static void on_feed(void *owner, const struct weir_reply *reply, const struct weir_error *err)
{
    struct selector_task *task = owner;
    if (reply == NULL && err->status == WEIR_STALE) {
        start_again(task);
        return;
    }
    if (selector_task_refused(task, reply, err))
        return;
    weir_require(reply != NULL);
    const struct msg_feed_is *page = reply->message;
    uint64_t read_from = task->pipeline->cursors[task->dataset];
    struct weir_error own;
    if (selector_pipeline_advance(task->pipeline, task->queue->db, task->dataset, page, &own) !=
        WEIR_OK) {
        selector_task_forget(task, &own);
        return;
    }
    drop_columns(task->queue, page);
    uint64_t *head = &task->heads[task->dataset];
    if (*head == UINT64_MAX)
        *head = page->head;
    if (page->sequences.count == 0 &&
        page->passed <= read_from) /* nothing follows, whatever was announced */
        *head = task->pipeline->cursors[task->dataset];
    task->queue->step(task);
}

static void request_feed(struct selector_task *task)
{
    const struct selector_pipeline *pipeline = task->pipeline;
    const struct msg_feed_read read = {
        .dataset = pipeline->datasets[task->dataset],
        .consumer = pipeline->consumer,
        .after = pipeline->cursors[task->dataset],
        .limit = FEED_ROWS,
        .snapshot = pipeline->cursors[task->dataset] == 0,
    };
    weir_rpc_call(task->queue->storage, MSG_feed_read, &read, SELECTOR_STORAGE_MS, on_feed, task);
}

void selector_step_advance(struct selector_task *task)
{
    const struct selector_pipeline *pipeline = task->pipeline;
    struct weir_error err;
    while (task->dataset < pipeline->dataset_count) {
        uint64_t head = task->heads[task->dataset];
        if (head == UINT64_MAX || pipeline->cursors[task->dataset] < head) {
            request_feed(task);
            return;
        }
        if (check_reached(task, &err) != WEIR_OK) {
            selector_task_fail(task, &err);
            return;
        }
        task->dataset++;
    }
    if (task->kind == SELECTOR_FOLLOW) {
        selector_task_end(task);
        return;
    }
    task->dataset = 0;
    task->phase = task->kind == SELECTOR_FORGET ? SELECTOR_PURGE : SELECTOR_GATHER;
    task->queue->step(task);
}
