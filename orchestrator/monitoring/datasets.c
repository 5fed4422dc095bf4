/* Storage's accounting of every dataset, and how far the readers of its feed are, asked one after the other. */
#include "orchestrator/monitoring/parts.h"

#include "core/base/clock.h"
#include "core/base/memory.h"

#include <stdlib.h>
#include <string.h>

#define US_PER_SECOND 1e6

struct datasets {
    uint64_t number; /* of the dataset that is asked about */
    char *name;
    size_t count;
};

static void request_next(struct monitor_part *part);

static void end(struct monitor_part *part, bool is_good)
{
    orchestrator_monitor_part_end(part, is_good, is_good);
}

/* ---- the feed ---- */

/* "selector" of "selector/mails"; the pipeline is behind it. False: it reads for no pipeline that still comes. */
static bool split(const char *consumer, const char **ret_service, const char **ret_pipeline)
{
    static const struct {
        const char *start, *service;
    } READERS[] = {{"orchestrator:", "orchestrator"}, {"selector/", "selector"}};
    for (size_t i = 0; i < WEIR_COUNT(READERS); i++) {
        size_t size = strlen(READERS[i].start);
        if (strncmp(consumer, READERS[i].start, size) != 0)
            continue;
        *ret_service = READERS[i].service;
        *ret_pipeline = consumer + size;
        return true;
    }
    return false;
}

static void add_reader(const struct msg_feed_readers *readers, size_t i, const char *dataset,
                       struct figures *figures)
{
    const char *service = NULL, *pipeline = NULL;
    uint64_t passed = readers->passed.at[i];
    int64_t waiting_us = readers->waiting_us.at[i];
    int64_t behind_us = waiting_us > 0 ? weir_now_wall_us() - waiting_us : 0;
    if (!split(readers->consumers.at[i], &service, &pipeline))
        return;
    FIGURE(figures, feed_lag, readers->head > passed ? readers->head - passed : 0, dataset,
           pipeline, service);
    FIGURE(figures, feed_lag_seconds, behind_us > 0 ? (double)behind_us / US_PER_SECOND : 0,
           dataset, pipeline, service);
}

static void on_readers(void *owner, const struct weir_reply *reply, const struct weir_error *err)
{
    struct monitor_part *part = owner;
    const struct datasets *datasets = part->state;
    const struct msg_feed_readers *readers = reply != NULL ? reply->message : NULL;
    if (readers == NULL && err->status != WEIR_NOT_FOUND) {
        end(part, false);
        return;
    }
    size_t count = readers != NULL ? readers->consumers.count : 0;
    bool is_whole =
        readers != NULL && readers->passed.count == count && readers->waiting_us.count == count;
    for (size_t i = 0; is_whole && i < count; i++)
        add_reader(readers, i, datasets->name, part->draft);
    request_next(part);
}

/* ---- the dataset ---- */

static void add_dataset(const struct msg_dataset_is *is, struct figures *figures)
{
    FIGURE(figures, dataset_samples, is->live, is->name, "live");
    FIGURE(figures, dataset_samples, is->erased, is->name, "erased");
    FIGURE(figures, dataset_samples, is->removed, is->name, "removed");
    FIGURE(figures, dataset_samples, is->replaced, is->name, "replaced");
    FIGURE(figures, dataset_refused, is->quarantined, is->name, "quarantined");
    FIGURE(figures, dataset_refused, is->duplicate, is->name, "duplicate");
    FIGURE(figures, dataset_refused, is->blocked, is->name, "blocked");
    FIGURE(figures, dataset_bytes, is->bytes, is->name);
    FIGURE(figures, dataset_changes, is->sequence, is->name);
}

static void on_dataset(void *owner, const struct weir_reply *reply, const struct weir_error *err)
{
    struct monitor_part *part = owner;
    struct datasets *datasets = part->state;
    const struct msg_dataset_is *is = reply != NULL ? reply->message : NULL;
    bool is_end = is != NULL ? is->dataset == 0 : err->status == WEIR_NOT_FOUND;
    if (is == NULL || is_end || datasets->count == MONITOR_DATASETS_MAX) {
        end(part, is_end || is != NULL);
        return;
    }
    add_dataset(is, part->draft);
    datasets->count++;
    datasets->number = is->dataset;
    free(datasets->name);
    datasets->name = weir_strdup(is->name);
    weir_rpc_call(part->from->context->storage, MSG_feed_request,
                  &(struct msg_feed_request){.dataset = datasets->name}, MONITOR_REQUEST_MS,
                  on_readers, part);
}

static void request_next(struct monitor_part *part)
{
    const struct datasets *datasets = part->state;
    weir_rpc_call(part->from->context->storage, MSG_dataset_request,
                  &(struct msg_dataset_request){.name = "", .after = datasets->number},
                  MONITOR_REQUEST_MS, on_dataset, part);
}

static void begin(struct monitor_part *part)
{
    struct datasets *datasets = part->state;
    datasets->number = 0;
    datasets->count = 0;
    request_next(part);
}

static void forget(struct monitor_part *part)
{
    struct datasets *datasets = part->state;
    weir_rpc_forget(part->from->context->storage, part);
    free(datasets->name);
    datasets->name = NULL;
}

const struct monitor_source ORCHESTRATOR_MONITOR_DATASETS = {
    .service = "storage",
    .fresh_ms = MONITOR_FRESH_MS,
    .state_size = sizeof(struct datasets),
    .begin = begin,
    .forget = forget,
};
