/* The reading pipeline's memory, and firing. */
#include "orchestrator/pipeline/reader.h"
#include "orchestrator/pipeline/deciding.h"
#include "orchestrator/pipeline/probe.h"

#include "core/base/memory.h"

#include <stdlib.h>
#include <string.h>

struct reader *orchestrator_pipeline_reader_behind(struct trigger *policy,
                                                   const struct orchestrator_config *config,
                                                   int64_t time, uint64_t id)
{
    struct reader *reader = weir_calloc(1, sizeof(*reader));
    reader->policy = policy;
    reader->page_count = config->dataset_count;
    reader->last_time = time;
    reader->last_id = id;
    for (size_t i = 0; i < reader->page_count; i++) {
        reader->pages[i].after_time = reader->last_time;
        reader->pages[i].after_id = reader->last_id;
        reader->pages[i].end = (config->uses[i] & CFG_USE_TRIGGER) == 0;
    }
    return reader;
}

struct reader *orchestrator_pipeline_reader_new(struct pipeline *pipeline, struct weir_error *err)
{
    struct trigger *policy = NULL;
    if (orchestrator_pipeline_open_trigger(pipeline, &policy, err) != WEIR_OK)
        return NULL;
    bool pends = pipeline->pending > 0;
    struct reader *reader = orchestrator_pipeline_reader_behind(
        policy, pipeline->config, pends ? pipeline->pending_time : pipeline->after_time,
        (uint64_t)(pends ? pipeline->pending_id : pipeline->after_id));
    reader->samples_new = pipeline->pending;
    reader->arrived_us = pipeline->pending_us;
    return reader;
}

void orchestrator_pipeline_reader_free(struct reader *reader)
{
    if (reader == NULL)
        return;
    for (size_t i = 0; i < reader->page_count; i++) {
        free(reader->pages[i].ids);
        free(reader->pages[i].times);
        free(reader->pages[i].labels);
    }
    if (reader->deciding != NULL) {
        orchestrator_deciding_abandon(reader->deciding, reader->policy, reader->probe);
    } else {
        orchestrator_trigger_close(reader->policy);
        orchestrator_pipeline_probe_free(reader->probe);
    }
    json_decref(reader->decision);
    free(reader);
}

void orchestrator_pipeline_reader_drop(struct pipeline *pipeline)
{
    orchestrator_pipeline_reader_free(pipeline->reader);
    pipeline->reader = NULL;
}

void orchestrator_pipeline_page_fill(struct reader_page *page, struct weir_u64s ids,
                                     struct weir_i64s times, struct weir_i64s labels)
{
    size_t count = ids.count < times.count ? ids.count : times.count;
    count = count < labels.count ? count : labels.count;
    if (count > page->capacity) {
        page->capacity = count;
        page->ids = weir_realloc(page->ids, count, sizeof(*page->ids));
        page->times = weir_realloc(page->times, count, sizeof(*page->times));
        page->labels = weir_realloc(page->labels, count, sizeof(*page->labels));
    }
    if (count > 0) {
        memcpy(page->ids, ids.at, count * sizeof(*page->ids));
        memcpy(page->times, times.at, count * sizeof(*page->times));
        memcpy(page->labels, labels.at, count * sizeof(*page->labels));
        page->after_time = page->times[count - 1];
        page->after_id = page->ids[count - 1];
    }
    page->count = count;
    page->at = 0;
}

/* ---- walking ---- */

struct reader_page *orchestrator_pipeline_reader_first(struct reader *reader, int64_t *ret_missing)
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

enum reader_passing orchestrator_pipeline_reader_pass(struct reader *reader,
                                                      struct reader_page *page)
{
    struct trigger_sample sample = {.id = page->ids[page->at],
                                    .time_us = page->times[page->at],
                                    .label = page->labels[page->at]};
    if (orchestrator_trigger_before(reader->policy, &sample)) {
        if (reader->samples_new > 0)
            return READER_FIRES;
        orchestrator_trigger_fired(
            reader->policy); /* a period without samples: nothing to train on */
    }
    if (orchestrator_trigger_is_due(reader->policy))
        return READER_IS_DUE;
    page->at++;
    reader->samples_new++;
    reader->last_time = sample.time_us;
    reader->last_id = sample.id;
    if (orchestrator_trigger_observe(reader->policy, &sample))
        return READER_FIRES;
    return orchestrator_trigger_is_due(reader->policy) ? READER_IS_DUE : READER_PASSED;
}

bool orchestrator_pipeline_fire(struct pipeline *pipeline)
{
    struct reader *reader = pipeline->reader;
    WEIR_AUTO_BUF reason = {0};
    orchestrator_trigger_explain(reader->policy, &reason);
    orchestrator_trigger_fired(reader->policy);
    struct fired fired = {
        .policy = reader->policy,
        .reason = weir_buf_text(&reason),
        .samples_new = reader->samples_new,
        .until_time = reader->last_time,
        .until_id = (int64_t)reader->last_id,
        .arrived_us = reader->arrived_us,
        .positions = pipeline->positions,
        .decision = reader->decision,
    };
    if (orchestrator_pipeline_is_ahead(pipeline)) {
        if (orchestrator_pipeline_fire_ahead(pipeline, &fired))
            orchestrator_pipeline_prepare_ahead(pipeline);
        return false;
    }
    bool committed = orchestrator_pipeline_advance(pipeline, PIPELINE_ON_TRIGGERED,
                                                   orchestrator_pipeline_effect_fired, &fired);
    if (committed)
        orchestrator_pipeline_reader_drop(pipeline);
    return committed;
}
