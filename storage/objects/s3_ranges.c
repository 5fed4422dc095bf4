/* Requests for ranges, and the fetches that serve them: see s3_ranges.h. */
#include "storage/objects/s3_ranges.h"

#include "core/base/file.h"
#include "core/base/memory.h"
#include "storage/formats/text.h"
#include "storage/objects/s3_cache.h"
#include "storage/objects/s3_call.h"
#include "storage/sql/queries.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

enum {
    BLOCKS_PER_FETCH = S3_RANGE_BYTES_MAX / S3_BLOCK_BYTES,
    GAP_BLOCKS_MAX = 2, /* fetching so many in vain costs less than another request to the bucket */
};

/* A block that a request waits for, or keeps. */
struct s3_wait {
    struct s3_range_request *request;
    struct s3_block *block;
    LIST_ENTRY(s3_wait) link; /* of the same block */
    bool is_waiting;
};

struct s3_range_request {
    struct s3_ranges *ranges;
    s3_range_done_fn *done;
    void *owner;
    struct s3_wait *waits;
    size_t count, left;
    char *why;
    uint64_t timer;
};

struct fetch {
    struct fetcher *fetcher;
    struct s3_call *call;
    struct s3_block *blocks[BLOCKS_PER_FETCH]; /* neighbours */
    size_t count;                              /* 0: idle */
    uint64_t from, size;
};

/* The fetches of one dataset, and the queue of blocks to fetch next. */
struct fetcher {
    struct s3_ranges *ranges;
    uint32_t dataset;
    const struct s3_remote *remote;
    struct fetch *fetches;
    size_t fetch_count;
    struct s3_block_queue wanted;
    char *trouble;
};

struct s3_ranges {
    struct store *store;
    struct mirrors *mirrors;
    struct s3_cache *cache;
    struct fetcher **fetchers;
    size_t fetcher_count;
};

static void pump(struct fetcher *fetcher);

/* ---- what is there ---- */

static bool is_of(const struct s3_body *body, const struct stored_file *file)
{
    return body->inode == file->inode && body->size == file->size &&
           body->mtime_ns == file->mtime_ns;
}

static struct s3_body *known_body(struct s3_ranges *ranges, const struct s3_span *span)
{
    struct s3_body *body =
        span->file->path != NULL
            ? storage_s3_cache_body(ranges->cache, span->dataset->number, span->file->path)
            : NULL;

    return body != NULL && is_of(body, span->file) ? body : NULL;
}

/* Index of the first block that the span lies in; end_of(): of the one after the last. */
static uint64_t first_of(const struct s3_span *span)
{
    return span->offset / S3_BLOCK_BYTES;
}

static uint64_t end_of(const struct s3_span *span)
{
    return (span->offset + span->length + S3_BLOCK_BYTES - 1) / S3_BLOCK_BYTES;
}

static bool is_within(const struct s3_span *span)
{
    return span->offset <= span->file->size && span->length <= span->file->size - span->offset;
}

size_t storage_s3_ranges_missing(struct s3_ranges *ranges, const struct s3_span *span)
{
    const struct s3_body *body = known_body(ranges, span);
    size_t missing = 0;

    for (uint64_t i = first_of(span); span->length > 0 && i < end_of(span); i++) {
        const struct s3_block *block =
            body != NULL ? storage_s3_cache_find(ranges->cache, body, i) : NULL;

        missing += block == NULL || block->state != S3_BLOCK_THERE;
    }
    return missing;
}

bool storage_s3_ranges_read(struct s3_ranges *ranges, const struct s3_span *span, uint8_t *to)
{
    const struct s3_body *body = known_body(ranges, span);
    uint64_t at = span->offset, end = span->offset + span->length;

    if (body == NULL || !is_within(span))
        return span->length == 0 && is_within(span);
    while (at < end) {
        struct s3_block *block = storage_s3_cache_find(ranges->cache, body, at / S3_BLOCK_BYTES);
        size_t from = at % S3_BLOCK_BYTES;
        size_t size = end - at < S3_BLOCK_BYTES - from ? (size_t)(end - at) : S3_BLOCK_BYTES - from;

        if (block == NULL || block->state != S3_BLOCK_THERE ||
            !storage_s3_cache_read(ranges->cache, block, from, size, to + (at - span->offset)))
            return false;
        at += size;
    }
    return true;
}

static bool put_span(struct s3_ranges *ranges, const struct s3_span *span, int fd)
{
    WEIR_AUTO_BUF bytes = {0};

    weir_buf_reserve(&bytes, span->length + 1);
    return storage_s3_ranges_read(ranges, span, bytes.at) &&
           pwrite(fd, bytes.at, span->length, (off_t)span->offset) == (ssize_t)span->length;
}

int storage_s3_ranges_open(struct s3_ranges *ranges, const struct s3_span *spans, size_t count)
{
    int fd = memfd_create("ranges", MFD_CLOEXEC);
    bool is_whole = fd >= 0 && ftruncate(fd, (off_t)spans[0].file->size) == 0;

    for (size_t i = 0; is_whole && i < count; i++)
        is_whole = put_span(ranges, &spans[i], fd);
    if (is_whole || fd < 0)
        return fd;
    close(fd);
    return -1;
}

void storage_s3_ranges_forget(struct s3_ranges *ranges, const struct dataset *dataset,
                              const char *path)
{
    storage_s3_cache_forget_path(ranges->cache, dataset->number, path);
}

static struct fetcher *find_fetcher(const struct s3_ranges *ranges, const struct dataset *dataset)
{
    for (size_t i = 0; i < ranges->fetcher_count; i++) {
        if (ranges->fetchers[i]->dataset == dataset->number)
            return ranges->fetchers[i];
    }
    return NULL;
}

const char *storage_s3_ranges_trouble(const struct s3_ranges *ranges, const struct dataset *dataset)
{
    const struct fetcher *fetcher = find_fetcher(ranges, dataset);

    return fetcher != NULL ? fetcher->trouble : NULL;
}

/* ---- requests ---- */

static void unwait(struct s3_wait *wait)
{
    if (wait->is_waiting)
        LIST_REMOVE(wait, link);
    wait->is_waiting = false;
}

static void free_request(struct s3_range_request *request)
{
    struct s3_ranges *ranges = request->ranges;

    weir_loop_cancel(ranges->store->loop, request->timer);
    for (size_t i = 0; i < request->count; i++) {
        struct s3_block *block = request->waits[i].block;

        if (block == NULL)
            continue;
        unwait(&request->waits[i]);
        storage_s3_cache_unpin(ranges->cache, block);
    }
    free(request->waits);
    free(request->why);
    free(request);
}

void storage_s3_range_request_drop(struct s3_range_request *request)
{
    if (request != NULL)
        free_request(request);
}

static void on_over(void *owner)
{
    struct s3_range_request *request = owner;

    struct store *store = request->ranges->store;

    request->timer = 0;
    request->done(request->owner, request->why);
    free_request(request);
    storage_pump(store);
}

static void end_soon(struct s3_range_request *request)
{
    if (request->left == 0 && request->timer == 0)
        request->timer = weir_loop_timer(request->ranges->store->loop, 0, 0, on_over, request);
}

static void note(struct s3_range_request *request, const char *why)
{
    if (why != NULL && request->why == NULL)
        request->why = weir_strdup(why);
}

/* The block is there; or it is not, and why, NULL: it never will be. */
static void settle(struct s3_ranges *ranges, struct s3_block *block, const char *why)
{
    while (!LIST_EMPTY(&block->waits)) {
        struct s3_wait *wait = LIST_FIRST(&block->waits);

        unwait(wait);
        note(wait->request, why);
        if (block->state != S3_BLOCK_THERE) {
            wait->block = NULL;
            block->pins--;
        }
        wait->request->left--;
        end_soon(wait->request);
    }
    if (block->state != S3_BLOCK_THERE)
        storage_s3_cache_drop(ranges->cache, block);
}

/* ---- what is wanted ---- */

/* Adds what the request has to wait for, or to keep. */
static void request_block(struct s3_range_request *request, struct fetcher *fetcher,
                          struct s3_body *body, uint64_t index)
{
    struct s3_cache *cache = request->ranges->cache;
    struct s3_block *block = storage_s3_cache_find(cache, body, index);
    struct s3_wait *wait = &request->waits[request->count];

    if (request->count > 0 && block != NULL && request->waits[request->count - 1].block == block)
        return;
    if (block == NULL) {
        block = storage_s3_cache_add(cache, body, index);
        TAILQ_INSERT_TAIL(&fetcher->wanted, block, in_line);
    }
    *wait = (struct s3_wait){.request = request, .block = block};
    request->count++;
    storage_s3_cache_pin(block);
    if (block->state == S3_BLOCK_THERE)
        return;
    LIST_INSERT_HEAD(&block->waits, wait, link);
    wait->is_waiting = true;
    request->left++;
}

/* The object that the file was indexed from, by what is mirrored; NULL: it is another one by now, or why not. */
static struct s3_body *look_up(struct s3_ranges *ranges, const struct s3_span *span,
                               struct s3_range_request *request)
{
    const struct stored_file *file = span->file;
    const struct dataset *dataset = span->dataset;
    WEIR_AUTO_FREE char *place = weir_format("%s/%s", dataset->root, file->path);
    WEIR_AUTO_FREE char *key = weir_format("%s%s", dataset->declaration->s3.prefix, file->path);
    WEIR_AUTO(weir_rows) rows = NULL;
    struct s3_body body = {.dataset = dataset->number, .path = file->path, .inode = file->inode};
    struct stat found;
    struct weir_error err;

    if (lstat(place, &found) < 0 || found.st_ino != file->inode ||
        (uint64_t)found.st_size != file->size || weir_mtime_ns(&found) != file->mtime_ns)
        return NULL;
    if (DB_RUN(ranges->store->db, Q_object_get, &rows, &err, DB_I64(dataset->number),
               DB_BYTES(weir_bytes_of(key))) != WEIR_OK)
        note(request, err.text);
    if (rows == NULL || weir_rows_count(rows) == 0)
        return NULL;
    body.size = file->size;
    body.mtime_ns = file->mtime_ns;
    body.etag = (char *)(uintptr_t)weir_rows_text(rows, 0, "etag"); /* copied at once */
    return storage_s3_cache_add_body(ranges->cache, &body);
}

static void request_span(struct s3_range_request *request, struct fetcher *fetcher,
                         const struct s3_span *span)
{
    struct s3_body *body;

    if (span->length == 0 || span->file->path == NULL || !is_within(span))
        return;
    body = known_body(request->ranges, span);
    if (body == NULL)
        body = look_up(request->ranges, span, request);
    for (uint64_t i = first_of(span); body != NULL && i < end_of(span); i++)
        request_block(request, fetcher, body, i);
}

/* ---- fetchers ---- */

static struct fetcher *new_fetcher(struct s3_ranges *ranges, const struct dataset *dataset,
                                   const struct s3_remote *remote)
{
    struct fetcher *fetcher = weir_calloc(1, sizeof(*fetcher));

    fetcher->ranges = ranges;
    fetcher->dataset = dataset->number;
    fetcher->remote = remote;
    TAILQ_INIT(&fetcher->wanted);
    fetcher->fetch_count = (size_t)dataset->declaration->s3.transfers;
    fetcher->fetches = weir_calloc(fetcher->fetch_count, sizeof(*fetcher->fetches));
    for (size_t i = 0; i < fetcher->fetch_count; i++) {
        fetcher->fetches[i].fetcher = fetcher;
        fetcher->fetches[i].call = storage_s3_call_new(ranges->store->transport);
    }
    ranges->fetchers =
        weir_realloc(ranges->fetchers, ranges->fetcher_count + 1, sizeof(struct fetcher *));
    ranges->fetchers[ranges->fetcher_count++] = fetcher;
    return fetcher;
}

/* NULL when nobody can be asked, and why. */
static struct fetcher *fetcher_of(struct s3_ranges *ranges, const struct dataset *dataset,
                                  struct s3_range_request *request)
{
    struct fetcher *fetcher = find_fetcher(ranges, dataset);
    const struct s3_remote *remote;
    struct weir_error err;

    if (fetcher != NULL)
        return fetcher;
    remote = storage_mirror_remote(ranges->mirrors, dataset);
    if (remote == NULL) {
        note(request, "its bucket cannot be asked: see weir datasets");
        return NULL;
    }
    if (storage_s3_cache_open(ranges->cache, &err) != WEIR_OK) {
        note(request, err.text);
        return NULL;
    }
    return new_fetcher(ranges, dataset, remote);
}

struct s3_range_request *storage_s3_ranges_request(struct s3_ranges *ranges,
                                                   const struct s3_span *spans, size_t count,
                                                   s3_range_done_fn *done, void *owner)
{
    struct s3_range_request *request;
    size_t blocks = 0, missing = 0;

    for (size_t i = 0; i < count; i++) {
        blocks += spans[i].length > 0 ? (size_t)(end_of(&spans[i]) - first_of(&spans[i])) : 0;
        missing += storage_s3_ranges_missing(ranges, &spans[i]);
    }
    if (missing == 0)
        return NULL;
    request = weir_calloc(1, sizeof(*request));
    request->ranges = ranges;
    request->done = done;
    request->owner = owner;
    request->waits = weir_calloc(blocks, sizeof(*request->waits));
    for (size_t i = 0; i < count; i++) {
        struct fetcher *fetcher = fetcher_of(ranges, spans[i].dataset, request);

        if (fetcher != NULL)
            request_span(request, fetcher, &spans[i]);
    }
    end_soon(request);
    for (size_t i = 0; i < ranges->fetcher_count; i++)
        pump(ranges->fetchers[i]);
    return request;
}

/* ---- fetches ---- */

static void tell(struct fetch *fetch, const char *why)
{
    struct fetcher *fetcher = fetch->fetcher;
    WEIR_AUTO_FREE char *path =
        why != NULL ? storage_printable(fetch->blocks[0]->body->path) : NULL;

    free(fetcher->trouble);
    fetcher->trouble =
        why != NULL ? weir_format("%s: object '%.200s': %s", fetcher->remote->name, path, why)
                    : NULL;
}

static void settle_all(struct fetch *fetch, const char *why)
{
    size_t count = fetch->count;

    tell(fetch, why);
    fetch->count = 0;
    for (size_t i = 0; i < count; i++)
        settle(fetch->fetcher->ranges, fetch->blocks[i], why);
}

static void keep(struct fetch *fetch, const uint8_t *at)
{
    struct s3_ranges *ranges = fetch->fetcher->ranges;
    size_t count = fetch->count;
    struct weir_error err;

    tell(fetch, NULL);
    fetch->count = 0;
    for (size_t i = 0; i < count; i++) {
        struct s3_block *block = fetch->blocks[i];
        enum weir_status status =
            block->body->is_forgotten
                ? weir_fail(&err, WEIR_UNAVAILABLE, "its object was rewritten meanwhile")
                : storage_s3_cache_store(ranges->cache, block, at + i * S3_BLOCK_BYTES, &err);

        settle(ranges, block, status == WEIR_OK ? NULL : err.text);
    }
}

/* Nothing under this ETag is left. Where an erasure rewrites the object it soon is there under another. */
static void lose(struct fetch *fetch)
{
    struct s3_ranges *ranges = fetch->fetcher->ranges;
    struct store *store = ranges->store;
    struct s3_body *body = fetch->blocks[0]->body;
    struct dataset *dataset =
        store->is_stale ? NULL : storage_catalog_at(store->catalog, body->dataset);
    const char *why = "storage is being loaded again";

    if (dataset != NULL) {
        why = storage_mirror_rewrites(ranges->mirrors, dataset, body->path)
                  ? "its object is being rewritten"
                  : NULL;
        storage_mirror_hurry(ranges->mirrors, dataset);
    }
    if (!body->is_forgotten)
        storage_s3_cache_forget(ranges->cache, body);
    settle_all(fetch, why);
}

static void on_answer(void *owner, const struct s3_answer *answer, const struct weir_error *err)
{
    struct fetch *fetch = owner;
    const struct weir_part asked = {fetch->from, fetch->size, fetch->blocks[0]->body->etag};
    char text[128];

    if (answer == NULL) {
        settle_all(fetch, err->text);
    } else if (answer->code == 404 || answer->code == 412) {
        lose(fetch);
    } else if (answer->code != 206) {
        storage_s3_answer_describe(answer, 206, text);
        settle_all(fetch, text);
    } else if (!storage_s3_answer_is(answer, &asked, text)) {
        storage_s3_call_again(fetch->call, text);
        return;
    } else {
        keep(fetch, answer->body.at);
    }
    pump(fetch->fetcher);
}

static void take(struct fetch *fetch, struct s3_block *block)
{
    block->state = S3_BLOCK_COMING;
    fetch->blocks[fetch->count++] = block;
    fetch->size += storage_s3_block_size(block);
}

/* The first neighbour of what is taken that is wanted, if it is near. */
static size_t gap_behind(struct s3_cache *cache, const struct s3_block *last)
{
    for (size_t gap = 0; gap <= GAP_BLOCKS_MAX; gap++) {
        const struct s3_block *block =
            storage_s3_cache_find(cache, last->body, last->index + gap + 1);

        if (block != NULL)
            return block->state == S3_BLOCK_WANTED ? gap : SIZE_MAX;
    }
    return SIZE_MAX;
}

static void take_neighbours(struct fetch *fetch)
{
    struct s3_cache *cache = fetch->fetcher->ranges->cache;

    for (;;) {
        struct s3_block *last = fetch->blocks[fetch->count - 1];
        size_t gap = gap_behind(cache, last);

        if (gap == SIZE_MAX || fetch->count + gap + 1 > BLOCKS_PER_FETCH)
            return;
        for (size_t i = 1; i <= gap; i++)
            take(fetch, storage_s3_cache_add(cache, last->body, last->index + i));
        last = storage_s3_cache_find(cache, last->body, last->index + gap + 1);
        TAILQ_REMOVE(&fetch->fetcher->wanted, last, in_line);
        take(fetch, last);
    }
}

static void fetch_blocks(struct fetch *fetch, struct s3_block *first)
{
    struct fetcher *fetcher = fetch->fetcher;
    WEIR_AUTO_FREE char *key = weir_format("%s%s", fetcher->remote->prefix, first->body->path);
    struct s3_sending sending = {.method = "GET", .tries = S3_TRIES};
    struct s3_piece piece = {.key = key, .etag = first->body->etag};

    fetch->size = 0;
    fetch->from = first->index * S3_BLOCK_BYTES;
    TAILQ_REMOVE(&fetcher->wanted, first, in_line);
    take(fetch, first);
    take_neighbours(fetch);
    piece.from = fetch->from;
    piece.to = fetch->from + fetch->size - 1;
    sending.bytes_max = fetch->size;
    storage_s3_request_piece(fetcher->remote, &piece, &sending.request);
    storage_s3_call_send(fetch->call, &sending, on_answer, fetch);
}

static struct s3_block *next_wanted(struct fetcher *fetcher)
{
    while (!TAILQ_EMPTY(&fetcher->wanted)) {
        struct s3_block *block = TAILQ_FIRST(&fetcher->wanted);

        if (!block->body->is_forgotten)
            return block;
        TAILQ_REMOVE(&fetcher->wanted, block, in_line);
        settle(fetcher->ranges, block, "its object was rewritten meanwhile");
    }
    return NULL;
}

static void pump(struct fetcher *fetcher)
{
    for (size_t i = 0; i < fetcher->fetch_count; i++) {
        struct s3_block *block = fetcher->fetches[i].count == 0 ? next_wanted(fetcher) : NULL;

        if (block != NULL)
            fetch_blocks(&fetcher->fetches[i], block);
    }
}

/* ---- life ---- */

struct s3_ranges *storage_s3_ranges_new(struct store *store, struct mirrors *mirrors)
{
    struct s3_ranges *ranges = weir_calloc(1, sizeof(*ranges));

    ranges->store = store;
    ranges->mirrors = mirrors;
    ranges->cache = storage_mirrors_cache(mirrors);
    return ranges;
}

void storage_s3_ranges_free(struct s3_ranges *ranges)
{
    if (ranges == NULL)
        return;
    for (size_t i = 0; i < ranges->fetcher_count; i++) {
        struct fetcher *fetcher = ranges->fetchers[i];

        for (size_t q = 0; q < fetcher->fetch_count; q++)
            storage_s3_call_free(fetcher->fetches[q].call);
        free(fetcher->fetches);
        free(fetcher->trouble);
        free(fetcher);
    }
    free(ranges->fetchers);
    free(ranges);
}
