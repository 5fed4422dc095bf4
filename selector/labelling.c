/* One request to storage for each block of a part. */
#include "selector/labelling.h"

#include "core/base/bits.h"
#include "core/base/memory.h"
#include "core/base/quota.h"
#include "core/wire/sample.h"

#include <stdlib.h>

enum { STORAGE_MS = 20000 };

struct selector_labelling {
    LIST_ENTRY(selector_labelling) link;
    const struct selector_queue *queue;
    uint64_t key; /* of whoever has asked */
    struct weir_route route;
    struct msg_set_part part; /* its columns lie in `arena` */
    struct weir_arena *arena;
    int64_t *labels;
    struct weir_bits gone;
    size_t at;  /* samples whose label is known */
    size_t end; /* one past the last that is asked for now */
};

static void labelling_free(struct selector_labelling *labelling)
{
    weir_bits_fini(&labelling->gone);
    weir_arena_free(labelling->arena);
    free(labelling);
}

static void finish(struct selector_labelling *labelling)
{
    LIST_REMOVE(labelling, link);
    labelling_free(labelling);
}

static void answer(struct selector_labelling *labelling)
{
    WEIR_AUTO_BUF gone = {0};
    struct msg_set_part *part = &labelling->part;
    weir_bits_pack(&labelling->gone, &gone);
    part->labels = (struct weir_i64s){labelling->labels, part->ids.count};
    part->gone = weir_bytes(gone.at, gone.size);
    weir_rpc_reply(labelling->queue->server, &labelling->route, MSG_set_part, part, NULL);
    finish(labelling);
}

/* Both ascend. */
static void take_labels(struct selector_labelling *labelling, const struct msg_columns_is *columns)
{
    size_t at = 0;
    for (size_t i = labelling->at; i < labelling->end; i++) {
        uint64_t id = labelling->part.ids.at[i];
        while (at < columns->ids.count && columns->ids.at[at] < id)
            at++;
        if (at < columns->ids.count && columns->ids.at[at] == id)
            labelling->labels[i] = columns->labels.at[at];
        else
            weir_bits_set(&labelling->gone, i);
    }
    labelling->at = labelling->end;
}

static void request_next(struct selector_labelling *labelling);

static void on_columns(void *owner, const struct weir_reply *reply, const struct weir_error *err)
{
    struct selector_labelling *labelling = owner;
    const struct msg_columns_is *columns = reply != NULL ? reply->message : NULL;
    struct weir_error own = {0};
    if (reply == NULL && err->status != WEIR_TIMEOUT)
        own = *err;
    else if (reply == NULL)
        weir_ignore(weir_fail(&own, WEIR_UNAVAILABLE, "storage does not answer"));
    else if (columns->labels.count != columns->ids.count)
        weir_ignore(weir_fail(&own, WEIR_INTERNAL, "storage sent %zu labels of %zu samples",
                              columns->labels.count, columns->ids.count));
    if (own.status != WEIR_OK) {
        weir_rpc_refuse(labelling->queue->server, &labelling->route, &own);
        finish(labelling);
        return;
    }
    weir_require(columns != NULL);
    take_labels(labelling, columns);
    request_next(labelling);
}

static void request_next(struct selector_labelling *labelling)
{
    const struct weir_u64s *ids = &labelling->part.ids;
    if (labelling->at == ids->count) {
        answer(labelling);
        return;
    }
    uint64_t first = ids->at[labelling->at];
    uint64_t block_end = first - weir_sample_row(first) + WEIR_BLOCK_ROWS;
    for (labelling->end = labelling->at;
         labelling->end < ids->count && ids->at[labelling->end] < block_end;)
        labelling->end++;
    const struct msg_columns_read read = {
        .first = first, .count = (uint32_t)(ids->at[labelling->end - 1] - first + 1)};
    weir_rpc_call(labelling->queue->storage, MSG_columns_read, &read, STORAGE_MS, on_columns,
                  labelling);
}

/* One key leaves as many to others as it has. */
static bool is_room(const struct selector_labellings *all, uint64_t key)
{
    const struct selector_labelling *one;
    struct weir_quota quota = {.keys.size = 0};
    LIST_FOREACH (one, all, link)
        weir_quota_take(&quota, one->key, 1);
    bool is_there = weir_quota_allows(&quota, key, 1, SELECTOR_LABELLINGS_MAX);
    weir_quota_fini(&quota);
    return is_there;
}

void selector_labelling_begin(struct selector_labellings *all, const struct selector_queue *queue,
                              const struct weir_request *request, const struct msg_set_part *part)
{
    uint64_t key = weir_rpc_quota_key(request);
    struct weir_error err;
    if (!is_room(all, key)) {
        weir_ignore(weir_fail(&err, WEIR_UNAVAILABLE,
                              "labels of as many parts are being read as can be, at most %d, of "
                              "which one key leaves as many to others as it has",
                              SELECTOR_LABELLINGS_MAX)); /* the error carries the status */
        weir_rpc_refuse(request->server, &request->route, &err);
        return;
    }
    struct selector_labelling *labelling = weir_calloc(1, sizeof(*labelling));
    size_t count = part->ids.count;
    labelling->queue = queue;
    labelling->key = key;
    labelling->route = request->route;
    labelling->arena = weir_arena_new();
    labelling->part = *part;
    if (count > 0)
        labelling->part.ids.at =
            weir_arena_copy(labelling->arena, part->ids.at, count * sizeof(*part->ids.at));
    if (part->weights.count > 0)
        labelling->part.weights.at =
            weir_arena_copy(labelling->arena, part->weights.at, count * sizeof(*part->weights.at));
    labelling->labels = weir_arena_alloc(labelling->arena, (count + 1) * sizeof(int64_t));
    LIST_INSERT_HEAD(all, labelling, link);
    request_next(labelling);
}

void selector_labelling_drop_all(struct selector_labellings *all)
{
    while (!LIST_EMPTY(all)) {
        struct selector_labelling *labelling = LIST_FIRST(all);
        LIST_REMOVE(labelling, link);
        labelling_free(labelling);
    }
}
