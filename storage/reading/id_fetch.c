/* See id_fetch.h. */
#include "storage/reading/id_fetch.h"

#include "core/base/clock.h"
#include "core/base/memory.h"
#include "storage/objects/s3_ranges.h"
#include "storage/reading/serve.h"

#include <stdlib.h>

void storage_id_fetch_fini(struct id_fetch *fetch)
{
    storage_s3_range_request_drop(fetch->request);
    free(fetch->why);
    *fetch = (struct id_fetch){0};
}

int64_t storage_id_fetch_wait_ms(const struct id_fetch *fetch)
{
    int64_t left_ms = fetch->request != NULL ? fetch->until_ms - weir_now_ms() : 0;

    return fetch->request != NULL && left_ms < 1 ? 1 : left_ms;
}

static void on_there(void *owner, const char *why)
{
    struct id_fetch *fetch = owner;

    fetch->request = NULL;
    fetch->why = why != NULL ? weir_strdup(why) : NULL;
}

/* Adds the parts of the sample that are in a bucket: its bytes, and the beginning of its file. */
static size_t add_spans(const struct id_fetching *asked, const struct located *found,
                        struct s3_span *spans)
{
    const struct declaration *d = found->dataset != NULL ? found->dataset->declaration : NULL;
    struct s3_span span = {.dataset = found->dataset, .file = found->file};

    if (d == NULL || !(d->is_remote || (d->is_mirrored && asked->wants_mirrored)) ||
        found->file == NULL || found->file->path == NULL || found->file->state != FILE_LIVE)
        return 0;
    span.offset = found->offset;
    span.length = found->length;
    spans[0] = span;
    if (!asked->wants_head)
        return 1;
    span.offset = 0;
    span.length = span.file->size < FORMAT_HEAD_MAX ? span.file->size : FORMAT_HEAD_MAX;
    spans[1] = span;
    return 2;
}

/* The groups of their files are pinned. */
static size_t list_spans(struct store *store, struct s3_ranges *ranges,
                         const struct id_fetching *asked, struct s3_span *spans)
{
    size_t count = 0;

    for (size_t i = asked->at; i < asked->count && i < asked->at + ID_FETCH_MAX; i++) {
        struct located found;
        struct weir_error err;
        size_t added = storage_find(store, asked->ids[i], &found, &err) == WEIR_OK
                           ? add_spans(asked, &found, spans + count)
                           : 0;

        if (added > 0 && asked->wants_mirrored)
            storage_s3_ranges_forget(ranges, found.dataset, found.file->path);
        for (size_t k = 0; k < added; k++)
            storage_file_pin(found.file->group);
        count += added;
    }
    return count;
}

bool storage_id_fetch(struct store *store, struct s3_ranges *ranges, struct id_fetch *fetch,
                      const struct id_fetching *asked)
{
    struct s3_span spans[2 * ID_FETCH_MAX];
    size_t count;

    if (fetch->request != NULL && weir_now_ms() < fetch->until_ms)
        return false;
    if (fetch->request != NULL) {
        storage_s3_range_request_drop(fetch->request);
        fetch->request = NULL;
        fetch->why = weir_strdup("the bucket has not answered in time");
    }
    if (asked->at < fetch->upto)
        return true;
    free(fetch->why);
    fetch->why = NULL;
    count = list_spans(store, ranges, asked, spans);
    fetch->upto = asked->count - asked->at < ID_FETCH_MAX ? asked->count : asked->at + ID_FETCH_MAX;
    fetch->until_ms = weir_now_ms() + asked->patience_ms;
    fetch->request = storage_s3_ranges_request(ranges, spans, count, on_there, fetch);
    for (size_t i = 0; i < count; i++)
        storage_file_unpin(spans[i].file->group);
    return fetch->request == NULL;
}
