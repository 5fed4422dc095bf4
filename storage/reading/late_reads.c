/* See late_reads.h. */
#include "storage/reading/late_reads.h"

#include "core/base/memory.h"
#include "core/base/quota.h"
#include "storage/objects/s3_ranges.h"
#include "storage/reading/serve.h"

#include <stdlib.h>
#include <string.h>

struct late_read {
    struct late_reads *reads;
    struct weir_rpc_server *server;
    struct weir_route route;
    uint64_t key;              /* of whoever asks */
    struct weir_buf ids, loan; /* of the request */
    struct s3_range_request *request;
};

struct late_reads {
    const struct serving *serving;
    struct late_read *at[LATE_READS_MAX];
    size_t count;
    struct weir_quota quota; /* of LATE_READS_MAX */
};

/* ---- what is missing ---- */

struct looking {
    struct s3_ranges *ranges;
    /* of the ids that the answer covers, by number; of no file: nothing to wait for */
    struct s3_span *spans;
};

static void on_found(void *owner, uint32_t number, const struct located *found)
{
    struct looking *looking = owner;

    if (found->state == WEIR_SAMPLE_LIVE && found->dataset->declaration->is_remote)
        looking->spans[number] = (struct s3_span){.dataset = found->dataset,
                                                  .file = found->file,
                                                  .offset = found->offset,
                                                  .length = found->length};
}

bool storage_reads_objects(const struct store *store, const struct weir_u64s *ids)
{
    uint32_t last = 0;

    for (size_t i = 0; i < ids->count; i++) {
        uint32_t number = weir_sample_dataset(ids->at[i]);
        const struct dataset *dataset =
            number != last ? storage_catalog_at(store->catalog, number) : NULL;

        if (dataset != NULL && dataset->declaration->is_remote)
            return true;
        last = number;
    }
    return false;
}

/* Returns the number of ids answered; `ret_count` spans of them are requested, moved to the front. */
static size_t cut(const struct looking *looking, size_t id_count, size_t *ret_count)
{
    size_t blocks = 0, bytes = 0, count = 0, i;

    for (i = 0; i < id_count; i++) {
        struct s3_span span = looking->spans[i];

        if (span.file == NULL)
            continue;
        blocks += storage_s3_ranges_missing(looking->ranges, &span);
        bytes += span.length;
        if (i > 0 && (blocks > LATE_BLOCKS_MAX || bytes > READ_ANSWER_BYTES))
            break;
        looking->spans[count++] = span;
    }
    *ret_count = count;
    return i;
}

/* ---- answering ---- */

static void free_read(struct late_read *late)
{
    struct late_reads *reads = late->reads;
    size_t at = 0;

    while (reads->at[at] != late)
        at++;
    reads->at[at] = reads->at[--reads->count];
    weir_quota_give(&reads->quota, late->key, 1);
    storage_s3_range_request_drop(late->request);
    weir_buf_fini(&late->ids);
    weir_buf_fini(&late->loan);
    free(late);
}

static enum weir_status answer(struct late_read *late, struct weir_arena *arena,
                               struct weir_error *err)
{
    const struct msg_read asked = {
        .ids = {(const uint64_t *)(const void *)late->ids.at, late->ids.size / sizeof(uint64_t)},
        .loan = weir_buf_view(&late->loan)};
    struct msg_read_is message = {0};
    struct weir_frames frames = {.count = 0};
    enum weir_status status =
        storage_read(late->reads->serving, &asked, arena, &message, &frames, err);

    if (status == WEIR_OK)
        weir_rpc_reply(late->server, &late->route, MSG_read_is, &message, &frames);
    return status;
}

static void on_there(void *owner, const char *why)
{
    struct late_read *late = owner;
    WEIR_AUTO(weir_arena) arena = weir_arena_new();
    struct weir_error err;
    enum weir_status status = why != NULL ? weir_fail(&err, WEIR_UNAVAILABLE,
                                                      "what is in a bucket cannot be read: %s", why)
                                          : answer(late, arena, &err);

    late->request = NULL; /* it is over */
    if (status != WEIR_OK)
        weir_rpc_refuse(late->server, &late->route, &err);
    free_read(late);
}

/* ---- waiting ---- */

static bool is_waiting(const struct late_reads *reads, const struct weir_route *route)
{
    for (size_t i = 0; i < reads->count; i++) {
        if (weir_route_is_of_request(&reads->at[i]->route, route))
            return true;
    }
    return false;
}

static void wait_for(struct late_reads *reads, const struct weir_request *request, size_t id_count,
                     const struct s3_span *spans, size_t count)
{
    const struct msg_read *asked = request->message;
    struct late_read *late = weir_calloc(1, sizeof(*late));

    late->reads = reads;
    late->server = request->server;
    late->route = request->route;
    late->key = weir_rpc_quota_key(request);
    weir_quota_take(&reads->quota, late->key, 1);
    weir_buf_append(&late->ids, asked->ids.at, id_count * sizeof(uint64_t));
    weir_buf_append(&late->loan, asked->loan.at, asked->loan.size);
    reads->at[reads->count++] = late;
    late->request =
        storage_s3_ranges_request(reads->serving->from->objects, spans, count, on_there, late);
    weir_require(late->request != NULL);
}

static bool is_missing(const struct looking *looking, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        if (storage_s3_ranges_missing(looking->ranges, &looking->spans[i]) > 0)
            return true;
    }
    return false;
}

bool storage_read_later(struct late_reads *reads, struct weir_request *request)
{
    struct store *store = reads->serving->store;
    struct weir_u64s ids = ((const struct msg_read *)request->message)->ids;
    struct looking looking = {.ranges = reads->serving->from->objects};
    struct weir_error err;
    size_t id_count, count;

    if (ids.count > READ_IDS_MAX || storage_readable(store, &err) != WEIR_OK ||
        !storage_reads_objects(store, &ids))
        return false;
    if (is_waiting(reads, &request->route))
        return true;
    looking.spans = weir_arena_alloc(request->arena, (ids.count + 1) * sizeof(*looking.spans));
    if (storage_find_all(store, &ids, request->arena, on_found, &looking, &err) != WEIR_OK)
        return false;
    id_count = cut(&looking, ids.count, &count);
    if (!is_missing(&looking, count))
        return false;
    if (weir_quota_allows(&reads->quota, weir_rpc_quota_key(request), 1, LATE_READS_MAX)) {
        wait_for(reads, request, id_count, looking.spans, count);
    } else {
        weir_fail(&err, WEIR_UNAVAILABLE,
                  "as many reads wait for a bucket as can, of %d, beside what one key leaves to "
                  "others",
                  LATE_READS_MAX);
        weir_rpc_refuse(request->server, &request->route, &err);
    }
    return true;
}

/* ---- life ---- */

struct late_reads *storage_late_reads_new(const struct serving *serving)
{
    struct late_reads *reads = weir_calloc(1, sizeof(*reads));

    reads->serving = serving;
    return reads;
}

void storage_late_reads_free(struct late_reads *reads)
{
    if (reads == NULL)
        return;
    for (size_t i = reads->count; i-- > 0;)
        free_read(reads->at[i]);
    weir_quota_fini(&reads->quota);
    free(reads);
}
