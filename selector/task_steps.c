/* The steps of a task. Each goes on until storage has to be asked; the reply goes on with it. */
#include "selector/origin.h"
#include "selector/preview.h"
#include "selector/task.h"

#include "core/base/clock.h"
#include "core/base/fault.h"
#include "core/base/log.h"
#include "core/base/memory.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

enum { FEED_ROWS = 8192, STORAGE_MS = 20000 };

/* Memory may be behind or ahead of Postgres now. */
static void fail_and_forget(struct selector_task *task, const struct weir_error *err)
{
    selector_forget_pipeline(task->selector, task->pipeline_name);
    selector_task_fail(task, err);
}

/* ---- START ---- */

static void start_open(struct selector_task *task)
{
    struct selector *selector = task->selector;
    struct weir_error err;
    if (selector_pipeline_store(selector->db, &task->asked.open, &err) != WEIR_OK) {
        fail_and_forget(task, &err);
        return;
    }
    selector_forget_pipeline(selector, task->pipeline_name);
    weir_rpc_reply(selector->server, &task->route, MSG_selection_opened, NULL, NULL);
    selector_task_follow(selector, task->pipeline_name);
    selector_task_end(task);
}

/* True when the request was answered before; then the task is over. */
static bool answer_again(struct selector_task *task)
{
    struct selector_sealed sealed;
    struct weir_error err;
    struct weir_db *db = task->selector->db;
    enum weir_status status =
        task->kind == SELECTOR_SELECT
            ? selector_sealed_find_trigger(db, task->pipeline_name, task->asked.select.trigger,
                                           &sealed, &err)
            : selector_sealed_find_interval(db, &task->asked.interval, &sealed, &err);
    if (status == WEIR_NOT_FOUND)
        return false;
    if (status)
        selector_task_fail(task, &err);
    else
        selector_task_answer(task, &sealed);
    return true;
}

/* Where the candidates of this trigger begin: behind the last trigger that is not in the tail. */
static enum weir_status find_beginning(struct selector_task *task, struct weir_error *err)
{
    const struct selector_pipeline *pipeline = task->pipeline;
    const struct selector_section *section = pipeline->section;
    uint64_t trigger = task->asked.select.trigger;
    if (section->tail == UINT64_MAX || trigger <= section->tail + 1)
        return WEIR_OK;
    struct selector_boundary boundary = {.position_count = pipeline->dataset_count};
    enum weir_status status =
        selector_sealed_boundary(task->selector->db, pipeline->name, trigger - 1 - section->tail,
                                 task->after, &boundary, err);
    if (status || !pipeline->replay)
        return status;
    memset(task->after, 0, pipeline->dataset_count * sizeof *task->after);
    task->window.after_time = boundary.until_time;
    task->window.after_id = boundary.until_id;
    return WEIR_OK;
}

static enum weir_status plan(struct selector_task *task, struct weir_error *err)
{
    const struct selector_pipeline *pipeline = task->pipeline;
    size_t count = pipeline->dataset_count;
    task->heads = weir_arena_alloc(task->arena, (count + 1) * sizeof *task->heads);
    task->after = weir_arena_alloc(task->arena, (count + 1) * sizeof *task->after);
    for (size_t i = 0; i < count; i++)
        task->heads[i] = UINT64_MAX;
    if (task->kind == SELECTOR_FOLLOW)
        return WEIR_OK;
    if (task->positions.count != count)
        return weir_fail(err, WEIR_INVALID,
                         "pipeline '%s': expected a position for each of its %zu datasets, found "
                         "%zu",
                         pipeline->name, count, task->positions.count);
    task->window = (struct selector_window){
        .after_time = INT64_MIN, .upto_time = INT64_MAX, .upto_id = UINT64_MAX};
    if (task->kind == SELECTOR_INTERVAL) {
        const struct msg_interval_seal *asked = &task->asked.interval;
        if (asked->from_time >= asked->to_time || asked->from_time == INT64_MIN)
            return weir_fail(err, WEIR_INVALID, "expected an interval that ends after it begins");
        task->window.after_time = asked->from_time - 1;
        task->window.after_id = UINT64_MAX;
        task->window.upto_time = asked->to_time - 1;
        return WEIR_OK;
    }
    if (task->kind == SELECTOR_PREVIEW) {
        enum weir_status status = selector_sealed_last(task->selector->db, pipeline->name,
                                                       &task->asked.select.trigger, err);
        if (status)
            return status;
        task->asked.select.trigger++;
    }
    if (task->asked.select.trigger == 0)
        return weir_fail(err, WEIR_INVALID, "triggers are counted from 1, found 0");
    if (pipeline->replay) {
        task->window.upto_time = task->asked.select.until_time;
        task->window.upto_id = task->asked.select.until_id;
    }
    return find_beginning(task, err);
}

/* Whether a row says what was answered. A holdout's set follows from the question alone. */
static bool is_recorded(const struct selector_task *task)
{
    return task->kind == SELECTOR_SELECT ||
           (task->kind == SELECTOR_INTERVAL && !task->asked.interval.holdout);
}

static void start(struct selector_task *task)
{
    if (task->kind == SELECTOR_OPEN) {
        start_open(task);
        return;
    }
    if (is_recorded(task) && answer_again(task))
        return;
    struct weir_error err;
    enum weir_status status =
        selector_find_pipeline(task->selector, task->pipeline_name, &task->pipeline, &err);
    if (!status)
        status = plan(task, &err);
    if (status) {
        selector_task_fail(task, &err);
        return;
    }
    task->phase = SELECTOR_ADVANCE;
    selector_task_step(task);
}

/* ---- ADVANCE ---- */

/* A silent storage is a passing trouble; what it refuses is its answer. */
static bool storage_failed(struct selector_task *task, const struct weir_reply *reply,
                           enum weir_message expected, const struct weir_error *err)
{
    struct weir_error own;
    if (reply && reply->type == expected)
        return false;
    if (reply)
        weir_ignore(weir_fail(&own, WEIR_INTERNAL, "storage sent an answer of type %d, expected %d",
                              (int)reply->type, (int)expected)); /* own carries the status */
    else
        own = *err;
    if (own.status == WEIR_TIMEOUT)
        weir_ignore(weir_fail(&own, WEIR_UNAVAILABLE, "storage does not answer")); /* same */
    selector_task_fail(task, &own);
    return true;
}

/* Cached columns of rows that changed are not only stale: they may be what must be forgotten. */
static void drop_columns(struct selector *selector, const struct msg_feed_is *page)
{
    for (size_t i = 0; i < page->sequences.count; i++) {
        uint64_t first = page->firsts.at[i];
        uint64_t last = first + page->counts.at[i] - 1;
        for (uint64_t id = first - weir_sample_row(first);
             page->kinds.at[i] != WEIR_CHANGE_ADDED && id <= last; id += WEIR_BLOCK_ROWS)
            selector_columns_drop(&selector->columns, id);
    }
}

static enum weir_status check_reached(const struct selector_task *task, struct weir_error *err)
{
    uint64_t reached = task->pipeline->cursors[task->dataset];
    uint64_t wanted = task->kind == SELECTOR_FOLLOW ? 0 : task->positions.at[task->dataset];
    if (reached >= wanted)
        return WEIR_OK;
    return weir_fail(err, WEIR_INVALID,
                     "dataset %" PRIu64 ": position %" PRIu64
                     " was asked for, its newest change is %" PRIu64,
                     task->pipeline->datasets[task->dataset], wanted, reached);
}

/* Storage keeps no longer what follows the cursor: what the pool knows of the dataset goes, and comes again as
 * a snapshot. Sealed sets stay as they are. */
static void start_anew(struct selector_task *task)
{
    struct selector_pipeline *pipeline = task->pipeline;
    uint64_t dataset = pipeline->datasets[task->dataset];
    struct weir_error err;
    weir_log(WEIR_LOG_INFO, "feed read anew", "pipeline=%s dataset=%" PRIu64, pipeline->name,
             dataset);
    if (selector_pipeline_restart(pipeline, task->selector->db, task->dataset, &err) == WEIR_OK)
        weir_ignore(weir_fail(&err, WEIR_UNAVAILABLE,
                              "dataset %" PRIu64 ": the feed is read anew from a snapshot",
                              dataset)); /* the status travels in err */
    fail_and_forget(task, &err);
}

static void on_feed(void *owner, const struct weir_reply *reply, const struct weir_error *err)
{
    struct selector_task *task = owner;
    if (!reply && err->status == WEIR_STALE) {
        start_anew(task);
        return;
    }
    if (storage_failed(task, reply, MSG_feed_is, err))
        return;
    const struct msg_feed_is *page = reply->message;
    uint64_t read_from = task->pipeline->cursors[task->dataset];
    struct weir_error own;
    if (selector_pipeline_advance(task->pipeline, task->selector->db, task->dataset, page, &own) !=
        WEIR_OK) {
        fail_and_forget(task, &own);
        return;
    }
    drop_columns(task->selector, page);
    uint64_t *head = &task->heads[task->dataset];
    if (*head == UINT64_MAX)
        *head = page->head;
    if (page->sequences.count == 0 &&
        page->passed <= read_from) /* nothing follows, whatever was announced */
        *head = task->pipeline->cursors[task->dataset];
    selector_task_step(task);
}

static void ask_feed(struct selector_task *task)
{
    const struct selector_pipeline *pipeline = task->pipeline;
    const struct msg_feed_read read = {
        .dataset = pipeline->datasets[task->dataset],
        .consumer = pipeline->consumer,
        .after = pipeline->cursors[task->dataset],
        .limit = FEED_ROWS,
        .snapshot = pipeline->cursors[task->dataset] == 0,
    };
    weir_rpc_call(task->selector->storage, MSG_feed_read, &read, STORAGE_MS, on_feed, task);
}

static void advance(struct selector_task *task)
{
    const struct selector_pipeline *pipeline = task->pipeline;
    struct weir_error err;
    while (task->dataset < pipeline->dataset_count) {
        uint64_t head = task->heads[task->dataset];
        if (head == UINT64_MAX || pipeline->cursors[task->dataset] < head) {
            ask_feed(task);
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
    task->phase = SELECTOR_GATHER;
    selector_task_step(task);
}

/* ---- GATHER ---- */

static void on_columns(void *owner, const struct weir_reply *reply, const struct weir_error *err)
{
    struct selector_task *task = owner;
    if (storage_failed(task, reply, MSG_columns_is, err))
        return;
    const struct msg_columns_is *columns = reply->message;
    size_t index = task->pipeline->ascending[task->dataset];
    uint64_t dataset = task->pipeline->datasets[index];
    if (columns->times.count != columns->ids.count || columns->labels.count != columns->ids.count) {
        struct weir_error own;
        weir_ignore(weir_fail(&own, WEIR_CORRUPT, "storage sent columns of unequal length"));
        selector_task_fail(task, &own); /* which carries the status */
        return;
    }
    const struct selector_column_block block = {
        .first = weir_sample_id((uint32_t)dataset, (uint32_t)task->block, 0),
        .rows = selector_pool_rows(&task->pipeline->pool, dataset, task->block),
        .count = columns->ids.count,
        .ids = columns->ids.at,
        .times = columns->times.at,
        .labels = columns->labels.at,
    };
    selector_columns_put(&task->selector->columns, &block);
    selector_task_step(task);
}

static bool needs_columns(const struct selector_task *task)
{
    unsigned needs = task->pipeline->section->needs;
    return task->kind == SELECTOR_INTERVAL || task->kind == SELECTOR_PREVIEW ||
           task->pipeline->replay || (needs & (SELECTION_NEEDS_TIMES | SELECTION_NEEDS_LABELS));
}

/* No training set ever touches what is held out; a sealed holdout holds nothing else. */
static void hold_out(struct selector_task *task, size_t index, uint64_t first)
{
    const struct selector_section *section = task->pipeline->section;
    bool wanted = task->kind == SELECTOR_INTERVAL && task->asked.interval.holdout;
    bool training = task->kind == SELECTOR_SELECT || task->kind == SELECTOR_PREVIEW;
    if (index >= section->dataset_count || (!wanted && !training))
        return;
    if (wanted || section->holdouts[index].bound > 0)
        selector_holdout_mask(&section->holdouts[index], first, wanted, task->mask);
}

/* False: storage has to be asked first. */
static bool gather_block(struct selector_task *task, size_t index)
{
    const struct selector_pipeline *pipeline = task->pipeline;
    uint64_t dataset = pipeline->datasets[index];
    uint64_t first = weir_sample_id((uint32_t)dataset, (uint32_t)task->block, 0);
    if (selector_pool_mask(&pipeline->pool, dataset, task->block, task->after[index],
                           task->positions.at[index], task->mask) == 0)
        return true;
    hold_out(task, index, first);
    if (!needs_columns(task)) {
        selector_candidates_add(&task->candidates, first, task->mask);
        return true;
    }
    uint32_t rows = selector_pool_rows(&pipeline->pool, dataset, task->block);
    const struct selector_column_block *columns =
        selector_columns_get(&task->selector->columns, first, rows);
    if (columns) {
        selector_candidates_add_columns(&task->candidates, task->mask, columns, &task->window);
        return true;
    }
    const struct msg_columns_read read = {.first = first, .count = rows};
    weir_rpc_call(task->selector->storage, MSG_columns_read, &read, STORAGE_MS, on_columns, task);
    return false;
}

static void gather(struct selector_task *task)
{
    const struct selector_pipeline *pipeline = task->pipeline;
    for (; task->dataset < pipeline->dataset_count; task->dataset++, task->block = 0) {
        size_t index = pipeline->ascending[task->dataset];
        size_t blocks = selector_pool_blocks(&pipeline->pool, pipeline->datasets[index]);
        for (; task->block < blocks; task->block++)
            if (!gather_block(task, index))
                return;
    }
    task->phase = SELECTOR_SEAL;
    selector_task_step(task);
}

/* ---- SEAL ---- */

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

static enum weir_status choose_trigger(struct selector_task *task, struct selector_sealed *sealed,
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

static void choose_interval(struct selector_task *task, struct selector_sealed *sealed)
{
    char from[WEIR_TIME_TEXT_MAX];
    char to[WEIR_TIME_TEXT_MAX];
    weir_time_format(task->asked.interval.from_time, from);
    weir_time_format(task->asked.interval.to_time, to);
    (void)snprintf(sealed->policy, sizeof sealed->policy, "interval");
    if (task->candidates.count == 0)
        (void)snprintf(sealed->reason, sizeof sealed->reason,
                       "there are no samples from %s until before %s", from, to);
}

static enum weir_status put(struct selector_task *task, const struct selector_sealed *sealed,
                            struct weir_error *err)
{
    struct weir_db *db = task->selector->db;
    if (!is_recorded(task))
        return WEIR_OK;
    if (task->kind == SELECTOR_INTERVAL)
        return selector_sealed_put_interval(db, &task->asked.interval, sealed, err);
    const struct selector_boundary boundary = {
        .positions = task->positions.at,
        .position_count = task->positions.count,
        .until_time = task->asked.select.until_time,
        .until_id = task->asked.select.until_id,
    };
    return selector_sealed_put_trigger(db, task->pipeline_name, task->asked.select.trigger,
                                       &boundary, sealed, err);
}

static void preview(struct selector_task *task)
{
    struct selector_sealed sealed = {.candidates = task->candidates.count};
    struct weir_error err;
    WEIR_AUTO_FREE uint64_t *ids = weir_calloc(task->candidates.count + 1, sizeof *ids);
    if (task->candidates.count > 0)
        memcpy(ids, task->candidates.ids, task->candidates.count * sizeof *ids);
    if (choose_trigger(task, &sealed, &err) != WEIR_OK) {
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

static void seal(struct selector_task *task)
{
    struct selector_sealed sealed = {.candidates = task->candidates.count};
    const struct selector_candidates *chosen = &task->candidates;
    struct weir_error err;
    enum weir_status status = WEIR_OK;
    if (task->kind == SELECTOR_SELECT)
        status = choose_trigger(task, &sealed, &err);
    else
        choose_interval(task, &sealed);
    if (!status)
        status = selector_sealed_write(task->selector->data_dir, chosen->ids, chosen->weights,
                                       chosen->count, &sealed, &err);
    if (!status)
        status = put(task, &sealed, &err);
    if (!status && weir_fault("selector.answer"))
        status = weir_fail(&err, WEIR_UNAVAILABLE, "fault selector.answer");
    if (status) {
        selector_task_fail(task, &err);
        return;
    }
    weir_log(WEIR_LOG_INFO, "set sealed",
             "pipeline=%s policy=%s samples=%" PRIu64 " of=%" PRIu64 " digest=%s reason=\"%s\"",
             task->pipeline_name, sealed.policy, sealed.samples, sealed.candidates, sealed.digest,
             sealed.reason);
    selector_task_answer(task, &sealed);
}

void selector_task_step(struct selector_task *task)
{
    switch (task->phase) {
    case SELECTOR_START:
        start(task);
        break;
    case SELECTOR_ADVANCE:
        advance(task);
        break;
    case SELECTOR_GATHER:
        gather(task);
        break;
    case SELECTOR_SEAL:
        if (task->kind == SELECTOR_PREVIEW)
            preview(task);
        else
            seal(task);
        break;
    }
}
