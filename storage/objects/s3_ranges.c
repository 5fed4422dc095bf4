/* Wishes, and the questions that fulfil them: see s3_ranges.h. */
#include "storage/objects/s3_ranges.h"

#include "core/base/clock.h"
#include "core/base/file.h"
#include "core/base/memory.h"
#include "storage/formats/text.h"
#include "storage/objects/s3_cache.h"
#include "storage/objects/s3_mirror.h"
#include "storage/objects/s3_try.h"
#include "storage/sql/queries.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

enum {
    BLOCKS_PER_QUESTION = S3_RANGE_BYTES_MAX / S3_BLOCK_BYTES,
    GAP_BLOCKS_MAX = 2, /* fetching so many in vain costs less than another question */
};

/* A block that a wish waits for, or keeps. */
struct s3_wait {
    struct s3_wish *wish;
    struct s3_block *block;
    struct s3_wait *next; /* of the same block */
};

struct s3_wish {
    struct s3_ranges *ranges;
    s3_wished_fn *done;
    void *owner;
    struct s3_wait *waits;
    size_t count, left;
    char *why;
    uint64_t timer;
};

struct question {
    struct lane *lane;
    struct s3_try *asked;
    struct s3_block *blocks[BLOCKS_PER_QUESTION]; /* neighbours */
    size_t count;                                 /* 0: idle */
    uint64_t from, size;
};

/* The questions of one dataset, and what is to be asked next, a ring. */
struct lane {
    struct s3_ranges *ranges;
    uint32_t dataset;
    const struct s3_remote *remote;
    struct question *questions;
    size_t question_count;
    struct s3_block wanted;
    char *trouble;
};

struct s3_ranges {
    struct store *store;
    struct mirrors *mirrors;
    struct s3_cache *cache; /* NULL until it is needed */
    struct lane **lanes;
    size_t lane_count;
};

static void pump(struct lane *lane);

/* ---- what is there ---- */

static bool is_of(const struct s3_body *body, const struct stored_file *file)
{
    return body->inode == file->inode && body->size == file->size &&
           body->mtime_ns == file->mtime_ns;
}

static struct s3_body *known_body(struct s3_ranges *ranges, const struct s3_span *span)
{
    struct s3_body *body =
        ranges->cache && span->file->path
            ? s3_cache_body(ranges->cache, span->dataset->number, span->file->path)
            : NULL;

    return body && is_of(body, span->file) ? body : NULL;
}

/* Of the blocks that the span lies in, the first and the one behind the last. */
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

size_t s3_ranges_missing(struct s3_ranges *ranges, const struct s3_span *span)
{
    const struct s3_body *body = known_body(ranges, span);
    size_t missing = 0;

    for (uint64_t i = first_of(span); span->length > 0 && i < end_of(span); i++) {
        const struct s3_block *block = body ? s3_cache_find(ranges->cache, body, i) : NULL;

        missing += !block || block->state != S3_BLOCK_THERE;
    }
    return missing;
}

bool s3_ranges_read(struct s3_ranges *ranges, const struct s3_span *span, uint8_t *to)
{
    const struct s3_body *body = known_body(ranges, span);
    uint64_t at = span->offset, end = span->offset + span->length;

    if (!body || !is_within(span))
        return span->length == 0 && is_within(span);
    while (at < end) {
        struct s3_block *block = s3_cache_find(ranges->cache, body, at / S3_BLOCK_BYTES);
        size_t from = at % S3_BLOCK_BYTES;
        size_t size = end - at < S3_BLOCK_BYTES - from ? (size_t)(end - at) : S3_BLOCK_BYTES - from;

        if (!block || block->state != S3_BLOCK_THERE ||
            !s3_cache_read(ranges->cache, block, from, size, to + (at - span->offset)))
            return false;
        at += size;
    }
    return true;
}

static bool put_span(struct s3_ranges *ranges, const struct s3_span *span, int fd)
{
    WEIR_AUTO_BUF bytes = {0};

    weir_buf_reserve(&bytes, span->length + 1);
    return s3_ranges_read(ranges, span, bytes.at) &&
           pwrite(fd, bytes.at, span->length, (off_t)span->offset) == (ssize_t)span->length;
}

int s3_ranges_open(struct s3_ranges *ranges, const struct s3_span *spans, size_t count)
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

void s3_ranges_forget(struct s3_ranges *ranges, const struct dataset *dataset, const char *path)
{
    struct s3_body *body =
        ranges->cache ? s3_cache_body(ranges->cache, dataset->number, path) : NULL;

    if (body)
        s3_cache_forget(ranges->cache, body);
}

static struct lane *find_lane(const struct s3_ranges *ranges, const struct dataset *dataset)
{
    for (size_t i = 0; i < ranges->lane_count; i++) {
        if (ranges->lanes[i]->dataset == dataset->number)
            return ranges->lanes[i];
    }
    return NULL;
}

const char *s3_ranges_trouble(const struct s3_ranges *ranges, const struct dataset *dataset)
{
    const struct lane *lane = find_lane(ranges, dataset);

    return lane ? lane->trouble : NULL;
}

/* ---- wishes ---- */

static void unwait(struct s3_wait *wait)
{
    struct s3_wait **place = &wait->block->waits;

    while (*place && *place != wait)
        place = &(*place)->next;
    if (*place)
        *place = wait->next;
}

static void free_wish(struct s3_wish *wish)
{
    struct s3_ranges *ranges = wish->ranges;

    weir_loop_cancel(ranges->store->loop, wish->timer);
    for (size_t i = 0; i < wish->count; i++) {
        struct s3_block *block = wish->waits[i].block;

        if (!block)
            continue;
        unwait(&wish->waits[i]);
        s3_cache_unpin(ranges->cache, block);
    }
    free(wish->waits);
    free(wish->why);
    free(wish);
}

void s3_wish_drop(struct s3_wish *wish)
{
    if (wish)
        free_wish(wish);
}

static void on_over(void *owner)
{
    struct s3_wish *wish = owner;

    struct store *store = wish->ranges->store;

    wish->timer = 0;
    wish->done(wish->owner, wish->why);
    free_wish(wish);
    storage_pump(store);
}

static void end_soon(struct s3_wish *wish)
{
    if (wish->left == 0 && wish->timer == 0)
        wish->timer = weir_loop_timer(wish->ranges->store->loop, 0, 0, on_over, wish);
}

static void note(struct s3_wish *wish, const char *why)
{
    if (why && !wish->why)
        wish->why = weir_strdup(why);
}

/* The block is there; or it is not, and why, NULL: it never will be. */
static void settle(struct s3_ranges *ranges, struct s3_block *block, const char *why)
{
    struct s3_wait *wait = block->waits;

    block->waits = NULL;
    for (struct s3_wait *next; wait; wait = next) {
        next = wait->next;
        note(wait->wish, why);
        if (block->state != S3_BLOCK_THERE) {
            wait->block = NULL;
            block->pins--;
        }
        wait->wish->left--;
        end_soon(wait->wish);
    }
    if (block->state != S3_BLOCK_THERE)
        s3_cache_drop(ranges->cache, block);
}

/* ---- what is wanted ---- */

static void take_off(struct s3_block *block)
{
    block->before->after = block->after;
    block->after->before = block->before;
}

static void enqueue(struct lane *lane, struct s3_block *block)
{
    block->after = &lane->wanted;
    block->before = lane->wanted.before;
    block->before->after = block->after->before = block;
}

/* Adds what the wish has to wait for, or to keep. */
static void wish_for(struct s3_wish *wish, struct lane *lane, struct s3_body *body, uint64_t index)
{
    struct s3_cache *cache = wish->ranges->cache;
    struct s3_block *block = s3_cache_find(cache, body, index);
    struct s3_wait *wait = &wish->waits[wish->count];

    if (wish->count > 0 && block && wish->waits[wish->count - 1].block == block)
        return;
    if (!block) {
        block = s3_cache_add(cache, body, index);
        enqueue(lane, block);
    }
    *wait = (struct s3_wait){.wish = wish, .block = block};
    wish->count++;
    s3_cache_pin(block);
    if (block->state == S3_BLOCK_THERE)
        return;
    wait->next = block->waits;
    block->waits = wait;
    wish->left++;
}

/* The object that the file was indexed from, by what is mirrored; NULL: it is another one by now, or why not. */
static struct s3_body *look_up(struct s3_ranges *ranges, const struct s3_span *span,
                               struct s3_wish *wish)
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
        note(wish, err.text);
    if (!rows || weir_rows_count(rows) == 0)
        return NULL;
    body.size = file->size;
    body.mtime_ns = file->mtime_ns;
    body.etag = (char *)(uintptr_t)weir_rows_text(rows, 0, 0); /* copied at once */
    return s3_cache_add_body(ranges->cache, &body);
}

static void wish_for_span(struct s3_wish *wish, struct lane *lane, const struct s3_span *span)
{
    struct s3_body *body;

    if (span->length == 0 || !span->file->path || !is_within(span))
        return;
    body = known_body(wish->ranges, span);
    if (!body)
        body = look_up(wish->ranges, span, wish);
    for (uint64_t i = first_of(span); body && i < end_of(span); i++)
        wish_for(wish, lane, body, i);
}

/* ---- lanes ---- */

static struct lane *new_lane(struct s3_ranges *ranges, const struct dataset *dataset,
                             const struct s3_remote *remote)
{
    struct lane *lane = weir_calloc(1, sizeof *lane);

    lane->ranges = ranges;
    lane->dataset = dataset->number;
    lane->remote = remote;
    lane->wanted.before = lane->wanted.after = &lane->wanted;
    lane->question_count = (size_t)dataset->declaration->s3.transfers;
    lane->questions = weir_calloc(lane->question_count, sizeof *lane->questions);
    for (size_t i = 0; i < lane->question_count; i++) {
        lane->questions[i].lane = lane;
        lane->questions[i].asked = s3_try_new(ranges->store->loop);
    }
    ranges->lanes = weir_realloc(ranges->lanes, ranges->lane_count + 1, sizeof(struct lane *));
    ranges->lanes[ranges->lane_count++] = lane;
    return lane;
}

/* NULL when nobody can be asked, and why. */
static struct lane *lane_of(struct s3_ranges *ranges, const struct dataset *dataset,
                            struct s3_wish *wish)
{
    struct lane *lane = find_lane(ranges, dataset);
    const struct s3_remote *remote;
    struct weir_error err;

    if (lane)
        return lane;
    remote = storage_mirror_remote(ranges->mirrors, dataset);
    if (!remote) {
        note(wish, "its bucket cannot be asked: see weir datasets");
        return NULL;
    }
    if (!ranges->cache && s3_cache_new(ranges->store->data_dir, S3_CACHE_BYTES / S3_BLOCK_BYTES,
                                       &ranges->cache, &err) != WEIR_OK) {
        note(wish, err.text);
        return NULL;
    }
    return new_lane(ranges, dataset, remote);
}

struct s3_wish *s3_ranges_ask(struct s3_ranges *ranges, const struct s3_span *spans, size_t count,
                              s3_wished_fn *done, void *owner)
{
    struct s3_wish *wish;
    size_t blocks = 0, missing = 0;

    for (size_t i = 0; i < count; i++) {
        blocks += spans[i].length > 0 ? (size_t)(end_of(&spans[i]) - first_of(&spans[i])) : 0;
        missing += s3_ranges_missing(ranges, &spans[i]);
    }
    if (missing == 0)
        return NULL;
    wish = weir_calloc(1, sizeof *wish);
    wish->ranges = ranges;
    wish->done = done;
    wish->owner = owner;
    wish->waits = weir_calloc(blocks, sizeof *wish->waits);
    for (size_t i = 0; i < count; i++) {
        struct lane *lane = lane_of(ranges, spans[i].dataset, wish);

        if (lane)
            wish_for_span(wish, lane, &spans[i]);
    }
    end_soon(wish);
    for (size_t i = 0; i < ranges->lane_count; i++)
        pump(ranges->lanes[i]);
    return wish;
}

/* ---- questions ---- */

static void tell(struct question *question, const char *why)
{
    struct lane *lane = question->lane;
    WEIR_AUTO_FREE char *path = why ? storage_printable(question->blocks[0]->body->path) : NULL;

    free(lane->trouble);
    lane->trouble =
        why ? weir_format("%s: object '%.200s': %s", lane->remote->name, path, why) : NULL;
}

static void settle_all(struct question *question, const char *why)
{
    size_t count = question->count;

    tell(question, why);
    question->count = 0;
    for (size_t i = 0; i < count; i++)
        settle(question->lane->ranges, question->blocks[i], why);
}

static void keep(struct question *question, const uint8_t *at)
{
    struct s3_ranges *ranges = question->lane->ranges;
    size_t count = question->count;
    struct weir_error err;

    tell(question, NULL);
    question->count = 0;
    for (size_t i = 0; i < count; i++) {
        struct s3_block *block = question->blocks[i];
        enum weir_status status =
            block->body->is_forgotten
                ? weir_fail(&err, WEIR_UNAVAILABLE, "its object was written anew meanwhile")
                : s3_cache_store(ranges->cache, block, at + i * S3_BLOCK_BYTES, &err);

        settle(ranges, block, status == WEIR_OK ? NULL : err.text);
    }
}

/* Nothing under this ETag is there any more. Where an erasure writes the object anew it soon is, under another. */
static void lose(struct question *question)
{
    struct s3_ranges *ranges = question->lane->ranges;
    struct store *store = ranges->store;
    struct s3_body *body = question->blocks[0]->body;
    struct dataset *dataset =
        store->is_stale ? NULL : storage_catalog_at(store->catalog, body->dataset);
    const char *why = "storage is being loaded again";

    if (dataset) {
        why = storage_mirror_rewrites(ranges->mirrors, dataset, body->path)
                  ? "its object is being written anew"
                  : NULL;
        storage_mirror_hurry(ranges->mirrors, dataset);
    }
    if (!body->is_forgotten)
        s3_cache_forget(ranges->cache, body);
    settle_all(question, why);
}

static void on_answer(void *owner, const struct s3_answer *answer, const char *why)
{
    struct question *question = owner;
    const struct s3_range asked = {question->from, question->size};
    char text[128];

    if (!answer) {
        settle_all(question, why);
    } else if (answer->code == 404 || answer->code == 412) {
        lose(question);
    } else if (answer->code != 206) {
        s3_try_describe(answer, 206, text);
        settle_all(question, text);
    } else if (!s3_answer_is(answer, &asked, question->blocks[0]->body->etag, text)) {
        s3_try_again(question->asked, text);
        return;
    } else {
        keep(question, answer->body.at);
    }
    pump(question->lane);
}

static void take(struct question *question, struct s3_block *block)
{
    block->state = S3_BLOCK_COMING;
    question->blocks[question->count++] = block;
    question->size += s3_block_size(block);
}

/* The first neighbour of what is taken that is wanted, if it is near. */
static size_t gap_behind(struct s3_cache *cache, const struct s3_block *last)
{
    for (size_t gap = 0; gap <= GAP_BLOCKS_MAX; gap++) {
        const struct s3_block *block = s3_cache_find(cache, last->body, last->index + gap + 1);

        if (block)
            return block->state == S3_BLOCK_WANTED ? gap : SIZE_MAX;
    }
    return SIZE_MAX;
}

static void take_neighbours(struct question *question)
{
    struct s3_cache *cache = question->lane->ranges->cache;

    for (;;) {
        struct s3_block *last = question->blocks[question->count - 1];
        size_t gap = gap_behind(cache, last);

        if (gap == SIZE_MAX || question->count + gap + 1 > BLOCKS_PER_QUESTION)
            return;
        for (size_t i = 1; i <= gap; i++)
            take(question, s3_cache_add(cache, last->body, last->index + i));
        last = s3_cache_find(cache, last->body, last->index + gap + 1);
        take_off(last);
        take(question, last);
    }
}

static void ask(struct question *question, struct s3_block *first)
{
    struct lane *lane = question->lane;
    WEIR_AUTO_FREE char *key = weir_format("%s%s", lane->remote->prefix, first->body->path);
    struct s3_question asked;
    struct s3_piece piece = {.key = key, .etag = first->body->etag};

    question->size = 0;
    question->from = first->index * S3_BLOCK_BYTES;
    take_off(first);
    take(question, first);
    take_neighbours(question);
    piece.from = question->from;
    piece.to = question->from + question->size - 1;
    s3_ask_piece(lane->remote, &piece, weir_now_wall_us(), &asked);
    s3_try_ask(question->asked, &asked, question->size, on_answer, question);
}

static struct s3_block *next_wanted(struct lane *lane)
{
    while (lane->wanted.after != &lane->wanted) {
        struct s3_block *block = lane->wanted.after;

        if (!block->body->is_forgotten)
            return block;
        take_off(block);
        settle(lane->ranges, block, "its object was written anew meanwhile");
    }
    return NULL;
}

static void pump(struct lane *lane)
{
    for (size_t i = 0; i < lane->question_count; i++) {
        struct s3_block *block = lane->questions[i].count == 0 ? next_wanted(lane) : NULL;

        if (block)
            ask(&lane->questions[i], block);
    }
}

/* ---- life ---- */

struct s3_ranges *s3_ranges_new(struct store *store, struct mirrors *mirrors)
{
    struct s3_ranges *ranges = weir_calloc(1, sizeof *ranges);

    ranges->store = store;
    ranges->mirrors = mirrors;
    return ranges;
}

void s3_ranges_free(struct s3_ranges *ranges)
{
    if (!ranges)
        return;
    for (size_t i = 0; i < ranges->lane_count; i++) {
        struct lane *lane = ranges->lanes[i];

        for (size_t q = 0; q < lane->question_count; q++)
            s3_try_free(lane->questions[q].asked);
        free(lane->questions);
        free(lane->trouble);
        free(lane);
    }
    free(ranges->lanes);
    s3_cache_free(ranges->cache);
    free(ranges);
}
