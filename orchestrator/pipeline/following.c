/* Reading live: the change feed of every dataset in order of change sequence (C3, C4), row by row past the policy. A
 * trigger ends with a row of the feed, since a row is what the selector's cursor moves by. The cursor is committed with
 * the policy's state row by row: storage drops what a consumer has passed. */
#include "orchestrator/pipeline/decisions.h"

#include "core/base/clock.h"
#include "core/wire/sample.h"

#include <stdio.h>

enum { FEED_IDLE_MS = 500, FEED_ROWS = 1024 };

static void request_feed(struct pipeline *pipeline);
static weir_rpc_done_fn on_columns;

/* The first of the samples since the newest trigger is the first that was visible. */
static void note_arrival(struct reader *reader)
{
    if (reader->arrived_us == 0 || reader->visible_us < reader->arrived_us)
        reader->arrived_us = reader->visible_us;
}

/* Samples of one feed row; true when a trigger is due after it. */
static bool take_row(struct reader *reader, const struct msg_columns_is *columns)
{
    bool due = false;
    for (size_t i = 0;
         i < columns->ids.count && i < columns->times.count && i < columns->labels.count; i++) {
        struct trigger_sample sample = {.id = columns->ids.at[i],
                                        .time_us = columns->times.at[i],
                                        .label = columns->labels.at[i]};
        due |= orchestrator_trigger_before(reader->policy, &sample);
        due |= orchestrator_trigger_observe(reader->policy, &sample);
        reader->samples_new++;
        note_arrival(reader);
        if (sample.time_us >= reader->last_time) {
            reader->last_time = sample.time_us;
            reader->last_id = sample.id;
        }
    }
    return due;
}

/* The feed is through up to `passed`; `due`: the policy has said true on the way. A due trigger is not passed here:
 * orchestrator_pipeline_fire() commits the row with it, as a check does with what it decides. What was missed is told
 * with the first step after the gap, so that it counts once whatever dies. */
static void rows_done(struct pipeline *pipeline, uint64_t passed, bool due)
{
    struct reader *reader = pipeline->reader;
    struct weir_error err;
    pipeline->positions[reader->asked] = passed;
    if (reader->missed > 0)
        due |= orchestrator_trigger_erased(reader->policy, reader->missed);
    reader->missed = 0;
    if (due) {
        (void)orchestrator_pipeline_fire(pipeline);
        return;
    }
    if (orchestrator_trigger_is_due(reader->policy)) {
        orchestrator_pipeline_check(pipeline, request_feed);
        return;
    }
    enum weir_status status = orchestrator_pipeline_commit_passed(pipeline, &err);
    if (status != WEIR_OK) {
        orchestrator_pipeline_reading_trouble(pipeline, status, &err);
        return;
    }
    request_feed(pipeline);
}

/* An erasure makes many rows; they count together, so that they fire one trigger. */
static void take_erased(struct pipeline *pipeline, const struct msg_feed_is *feed)
{
    uint64_t passed = 0;
    bool due = false;
    for (size_t i = 0; i < feed->kinds.count && feed->kinds.at[i] == WEIR_CHANGE_ERASED; i++) {
        due |= orchestrator_trigger_erased(pipeline->reader->policy, feed->counts.at[i]);
        passed = feed->sequences.at[i];
    }
    rows_done(pipeline, passed, due);
}

/* Asks for the samples that a change added: of a snapshot, several ranges of one block. */
static void request_added(struct pipeline *pipeline, const struct msg_feed_is *feed)
{
    size_t last = 0;
    while (last + 1 < feed->sequences.count &&
           feed->sequences.at[last + 1] == feed->sequences.at[0])
        last++;
    uint64_t end = feed->firsts.at[last] + feed->counts.at[last];
    struct msg_columns_read request = {.first = feed->firsts.at[0],
                                       .count = (uint32_t)(end - feed->firsts.at[0])};
    bool is_known = feed->visible_us.count > 0 && feed->visible_us.at[0] > 0;
    pipeline->reader->passed = feed->sequences.at[0];
    pipeline->reader->visible_us = is_known ? feed->visible_us.at[0] : weir_now_wall_us();
    weir_rpc_call(pipeline->context->storage, MSG_columns_read, &request, ORCHESTRATOR_REQUEST_MS,
                  on_columns, pipeline);
}

static void on_columns(void *owner, const struct weir_reply *reply, const struct weir_error *err)
{
    struct pipeline *pipeline = owner;
    if (reply == NULL) {
        orchestrator_pipeline_reading_trouble(pipeline, err->status, err);
        return;
    }
    rows_done(pipeline, pipeline->reader->passed, take_row(pipeline->reader, reply->message));
}

/* The feed is read on, once the check is through that may be due here. */
static void go_on(struct pipeline *pipeline)
{
    if (orchestrator_trigger_is_due(pipeline->reader->policy))
        orchestrator_pipeline_check(pipeline, request_feed);
    else
        request_feed(pipeline);
}

/* Everything there is was taken: periods that end while nothing comes end by the clock. */
static void look_on(void *owner)
{
    struct pipeline *pipeline = owner;
    struct reader *reader = pipeline->reader;
    pipeline->timer = 0;
    if (orchestrator_trigger_tick(reader->policy, orchestrator_now_us(pipeline->context))) {
        if (reader->samples_new > 0) {
            (void)orchestrator_pipeline_fire(pipeline);
            return;
        }
        orchestrator_trigger_fired(reader->policy);
    }
    go_on(pipeline);
}

static void next_dataset(struct pipeline *pipeline)
{
    struct reader *reader = pipeline->reader;
    reader->asked++;
    if (reader->asked < reader->page_count) {
        request_feed(pipeline);
        return;
    }
    reader->asked = 0;
    weir_loop_cancel(pipeline->context->loop, pipeline->timer);
    pipeline->timer = weir_loop_timer(pipeline->context->loop, FEED_IDLE_MS, 0, look_on, pipeline);
}

static bool is_whole(const struct msg_feed_is *feed)
{
    size_t count = feed->sequences.count;
    return feed->kinds.count == count && feed->firsts.count == count && feed->counts.count == count;
}

/* The policy sees nothing of the dataset: its changes are passed all at once. */
static bool is_unseen(const struct pipeline *pipeline)
{
    return (pipeline->config->uses[pipeline->reader->asked] & CFG_USE_TRIGGER) == 0;
}

static void on_feed(void *owner, const struct weir_reply *reply, const struct weir_error *err)
{
    struct pipeline *pipeline = owner;
    struct reader *reader = pipeline->reader;
    if (reply == NULL && err->status == WEIR_STALE && !reader->snapshot) {
        reader->snapshot = true; /* storage has not kept what follows: what is live is enough */
        request_feed(pipeline);
        return;
    }
    if (reply == NULL) {
        orchestrator_pipeline_reading_trouble(pipeline, err->status, err);
        return;
    }
    const struct msg_feed_is *feed = reply->message;
    reader->missed = is_unseen(pipeline) ? 0 : feed->erased;
    reader->snapshot = false;
    if (!is_whole(feed) || feed->sequences.count == 0) {
        if (feed->passed > pipeline->positions[reader->asked])
            rows_done(pipeline, feed->passed, false);
        else
            next_dataset(pipeline);
        return;
    }
    if (is_unseen(pipeline))
        rows_done(pipeline, feed->sequences.at[feed->sequences.count - 1], false);
    else if (feed->kinds.at[0] == WEIR_CHANGE_ADDED)
        request_added(pipeline, feed);
    else if (feed->kinds.at[0] == WEIR_CHANGE_ERASED)
        take_erased(pipeline, feed);
    else
        rows_done(pipeline, feed->sequences.at[0], false);
}

static void request_feed(struct pipeline *pipeline)
{
    size_t index = pipeline->reader->asked;
    char consumer[ORCHESTRATOR_NAME_MAX + 32];
    (void)snprintf(consumer, sizeof(consumer), "orchestrator:%s", pipeline->config->name);
    struct msg_feed_read request = {
        .dataset = pipeline->datasets[index],
        .consumer = consumer,
        .after = pipeline->positions[index],
        .limit = FEED_ROWS,
        .snapshot = pipeline->reader->snapshot || pipeline->positions[index] == 0,
    };
    weir_rpc_call(pipeline->context->storage, MSG_feed_read, &request, ORCHESTRATOR_REQUEST_MS,
                  on_feed, pipeline);
}

void orchestrator_pipeline_read_live(struct pipeline *pipeline)
{
    struct weir_error err;
    orchestrator_pipeline_reader_free(pipeline->reader);
    pipeline->reader = orchestrator_pipeline_reader_new(pipeline, &err);
    if (pipeline->reader == NULL) {
        orchestrator_pipeline_reading_trouble(pipeline, err.status, &err);
        return;
    }
    go_on(pipeline);
}
