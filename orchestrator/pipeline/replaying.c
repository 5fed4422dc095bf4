/* Reading a replay: pages of every dataset merged in order of (event time, id), sample by sample past the policy. */
#include "orchestrator/pipeline/decisions.h"

static void walk(struct pipeline *pipeline);

static void on_page(void *owner, const struct weir_reply *reply, const struct weir_error *err)
{
    struct pipeline *pipeline = owner;
    if (reply == NULL) {
        pipeline_trouble(pipeline, err->status, err);
        return;
    }
    const struct msg_replay_is *page = reply->message;
    struct reader_page *into = &pipeline->reader->pages[pipeline->reader->asked];
    pipeline_page_fill(into, page->ids, page->times, page->labels);
    into->end = page->end || into->count == 0;
    walk(pipeline);
}

static void ask_page(struct pipeline *pipeline, size_t index)
{
    const struct reader_page *page = &pipeline->reader->pages[index];
    pipeline->reader->asked = index;
    struct msg_replay_read ask = {
        .dataset = pipeline->datasets[index],
        .position = pipeline->positions[index],
        .after_time = page->after_time,
        .after_id = page->after_id,
        .limit = READER_PAGE_SAMPLES,
    };
    weir_rpc_call(pipeline->orch->storage, MSG_replay_read, &ask, ORCHESTRATOR_ASK_MS, on_page,
                  pipeline);
}

/* The page whose next sample is the first of all; NULL with *ret_missing >= 0: that page must be asked for first;
 * NULL with -1: there is nothing left. */
static struct reader_page *first_page(struct reader *reader, int64_t *ret_missing)
{
    struct reader_page *best = NULL;
    *ret_missing = -1;
    for (size_t i = 0; i < reader->page_count; i++) {
        struct reader_page *page = &reader->pages[i];
        if (page->at == page->count) {
            if (!page->end) {
                *ret_missing = (int64_t)i;
                return NULL;
            }
            continue;
        }
        if (best == NULL || page->times[page->at] < best->times[best->at] ||
            (page->times[page->at] == best->times[best->at] &&
             page->ids[page->at] < best->ids[best->at]))
            best = page;
    }
    return best;
}

enum passing { PASSED, ASKS, FIRES };

/* Takes the next sample, unless a trigger or a check falls before it. */
static enum passing pass(struct reader *reader, struct reader_page *page)
{
    struct trigger_sample sample = {.id = page->ids[page->at],
                                    .time_us = page->times[page->at],
                                    .label = page->labels[page->at]};
    if (orchestrator_trigger_before(reader->policy, &sample)) {
        if (reader->samples_new > 0)
            return FIRES;
        orchestrator_trigger_fired(
            reader->policy); /* a period without samples: nothing to train on */
    }
    if (orchestrator_trigger_asks(reader->policy))
        return ASKS;
    page->at++;
    reader->samples_new++;
    reader->last_time = sample.time_us;
    reader->last_id = sample.id;
    if (orchestrator_trigger_observe(reader->policy, &sample))
        return FIRES;
    return orchestrator_trigger_asks(reader->policy) ? ASKS : PASSED;
}

static enum weir_status effect_end(struct pipeline *pipeline, const void *what,
                                   struct weir_error *err)
{
    const int64_t *end_time = what;
    return DB_RUN(pipeline->orch->db, Q_pipeline_end, NULL, err, DB_I64(pipeline->id),
                  DB_I64(*end_time));
}

static void walk(struct pipeline *pipeline)
{
    struct reader *reader = pipeline->reader;
    int64_t missing = -1;
    struct reader_page *page = NULL;
    while ((page = first_page(reader, &missing)) != NULL) {
        enum passing passing = pass(reader, page);
        if (passing == FIRES)
            (void)pipeline_fire(pipeline);
        if (passing == FIRES || (passing == ASKS && !pipeline_check(pipeline)))
            return;
    }
    if (missing >= 0) {
        ask_page(pipeline, (size_t)missing);
        return;
    }
    int64_t end_time = reader->last_time;
    if (pipeline_advance(pipeline, PIPELINE_ON_EXHAUSTED, effect_end, &end_time)) {
        pipeline->end_time = end_time;
        pipeline_reader_drop(pipeline);
    }
}

void pipeline_read_replay(struct pipeline *pipeline)
{
    struct weir_error err;
    pipeline_reader_free(pipeline->reader);
    pipeline->reader = pipeline_reader_new(pipeline, &err);
    if (pipeline->reader == NULL) {
        pipeline_trouble(pipeline, err.status, &err);
        return;
    }
    uint64_t erased = pipeline->erased;
    pipeline->erased = 0;
    if (erased > 0 && pipeline->newest.number > 0 &&
        orchestrator_trigger_erased(pipeline->reader->policy, erased)) {
        (void)pipeline_fire(pipeline);
        return;
    }
    if (!orchestrator_trigger_asks(pipeline->reader->policy) || pipeline_check(pipeline))
        walk(pipeline);
}
