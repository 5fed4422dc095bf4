/* Reading a replay: pages of every dataset merged in order of (event time, id), sample by sample past the policy. */
#include "orchestrator/pipeline/decisions.h"

static void walk(struct pipeline *pipeline);

static void on_page(void *owner, const struct weir_reply *reply, const struct weir_error *err)
{
    struct pipeline *pipeline = owner;
    if (reply == NULL) {
        orchestrator_pipeline_reading_trouble(pipeline, err->status, err);
        return;
    }
    const struct msg_replay_is *page = reply->message;
    struct reader_page *into = &pipeline->reader->pages[pipeline->reader->asked];
    orchestrator_pipeline_page_fill(into, page->ids, page->times, page->labels);
    into->end = page->end || into->count == 0;
    walk(pipeline);
}

static void request_page(struct pipeline *pipeline, size_t index)
{
    const struct reader_page *page = &pipeline->reader->pages[index];
    pipeline->reader->asked = index;
    struct msg_replay_read request = {
        .dataset = pipeline->datasets[index],
        .position = pipeline->positions[index],
        .after_time = page->after_time,
        .after_id = page->after_id,
        .limit = READER_PAGE_SAMPLES,
    };
    weir_rpc_call(pipeline->context->storage, MSG_replay_read, &request, ORCHESTRATOR_REQUEST_MS,
                  on_page, pipeline);
}

static enum weir_status effect_end(struct pipeline *pipeline, const void *what,
                                   struct weir_error *err)
{
    const int64_t *end_time = what;
    return DB_RUN(pipeline->context->db, Q_pipeline_end, NULL, err, DB_I64(pipeline->id),
                  DB_I64(*end_time));
}

static void walk(struct pipeline *pipeline)
{
    struct reader *reader = pipeline->reader;
    int64_t missing = -1;
    struct reader_page *page = NULL;
    while ((page = orchestrator_pipeline_reader_first(reader, &missing)) != NULL) {
        enum reader_passing passing = orchestrator_pipeline_reader_pass(reader, page);
        if (passing == READER_PASSED)
            continue;
        if (passing == READER_FIRES)
            (void)orchestrator_pipeline_fire(pipeline);
        else
            orchestrator_pipeline_check(pipeline, walk);
        return;
    }
    if (missing >= 0) {
        request_page(pipeline, (size_t)missing);
        return;
    }
    if (orchestrator_pipeline_is_ahead(pipeline)) {
        orchestrator_pipeline_look_no_further(pipeline);
        return;
    }
    int64_t end_time = reader->last_time;
    if (orchestrator_pipeline_advance(pipeline, PIPELINE_ON_EXHAUSTED, effect_end, &end_time)) {
        pipeline->end_time = end_time;
        orchestrator_pipeline_reader_drop(pipeline);
    }
}

void orchestrator_pipeline_read_replay(struct pipeline *pipeline)
{
    struct weir_error err;
    orchestrator_pipeline_reader_free(pipeline->reader);
    pipeline->reader = orchestrator_pipeline_reader_new(pipeline, &err);
    if (pipeline->reader == NULL) {
        orchestrator_pipeline_reading_trouble(pipeline, err.status, &err);
        return;
    }
    uint64_t erased = pipeline->erased;
    pipeline->erased = 0;
    if (erased > 0 && pipeline->newest.number > 0 &&
        orchestrator_trigger_erased(pipeline->reader->policy, erased)) {
        (void)orchestrator_pipeline_fire(pipeline);
        return;
    }
    if (orchestrator_trigger_is_due(pipeline->reader->policy))
        orchestrator_pipeline_check(pipeline, walk);
    else
        walk(pipeline);
}
