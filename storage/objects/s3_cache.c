/* Slots of a file, found by two tables: see s3_cache.h. */
#include "storage/objects/s3_cache.h"

#include "core/base/hash.h"
#include "core/base/memory.h"
#include "core/base/rng.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { BODY_BUCKETS = 4096, BLOCK_BUCKETS = 16384 };

LIST_HEAD(body_bucket, s3_body);
LIST_HEAD(block_bucket, s3_block);

struct s3_cache {
    const char *folder;
    int fd; /* -1: not open yet */
    size_t blocks_max;
    struct body_bucket bodies[BODY_BUCKETS];
    struct block_bucket blocks[BLOCK_BUCKETS];
    struct s3_block_queue by_use; /* what was used last comes first */
    size_t there_count;
    size_t *free_slots;
    size_t free_count, free_capacity, slot_count;
};

/* ---- slots ---- */

/* Overwrites a slot: nobody is to find its bytes. */
static void give_slot(struct s3_cache *cache, size_t slot)
{
    static const uint8_t ZEROS[S3_BLOCK_BYTES];

    if (pwrite(cache->fd, ZEROS, sizeof(ZEROS), (off_t)(slot * S3_BLOCK_BYTES)) < 0)
        return; /* never to be used again */
    cache->free_slots =
        weir_grow(cache->free_slots, cache->free_count, &cache->free_capacity, sizeof(size_t));
    cache->free_slots[cache->free_count++] = slot;
}

static size_t take_slot(struct s3_cache *cache)
{
    return cache->free_count > 0 ? cache->free_slots[--cache->free_count] : cache->slot_count++;
}

/* ---- blocks ---- */

static struct block_bucket *bucket_of(struct s3_cache *cache, const struct s3_body *body,
                                      uint64_t index)
{
    return &cache->blocks[weir_mix64((uint64_t)(uintptr_t)body ^ index << 32 ^ index) %
                          BLOCK_BUCKETS];
}

struct s3_block *storage_s3_cache_find(struct s3_cache *cache, const struct s3_body *body,
                                       uint64_t index)
{
    struct s3_block *block;

    LIST_FOREACH (block, bucket_of(cache, body, index), link) {
        if (block->body == body && block->index == index)
            return block;
    }
    return NULL;
}

struct s3_block *storage_s3_cache_add(struct s3_cache *cache, struct s3_body *body, uint64_t index)
{
    struct s3_block *block = weir_calloc(1, sizeof(*block));

    *block = (struct s3_block){.body = body, .index = index};
    LIST_INSERT_HEAD(bucket_of(cache, body, index), block, link);
    body->block_count++;
    return block;
}

size_t storage_s3_block_size(const struct s3_block *block)
{
    uint64_t left = block->body->size - block->index * S3_BLOCK_BYTES;

    return left < S3_BLOCK_BYTES ? (size_t)left : S3_BLOCK_BYTES;
}

void storage_s3_cache_drop(struct s3_cache *cache, struct s3_block *block)
{
    LIST_REMOVE(block, link);
    if (block->state == S3_BLOCK_THERE) {
        TAILQ_REMOVE(&cache->by_use, block, in_line);
        cache->there_count--;
        give_slot(cache, block->slot);
    }
    block->body->block_count--;
    storage_s3_cache_tidy(block->body);
    free(block);
}

static void make_room(struct s3_cache *cache)
{
    struct s3_block *block = TAILQ_LAST(&cache->by_use, s3_block_queue);

    while (cache->there_count >= cache->blocks_max && block != NULL) {
        struct s3_block *before = TAILQ_PREV(block, s3_block_queue, in_line);

        if (block->pins == 0)
            storage_s3_cache_drop(cache, block);
        block = before;
    }
}

enum weir_status storage_s3_cache_store(struct s3_cache *cache, struct s3_block *block,
                                        const uint8_t *at, struct weir_error *err)
{
    size_t size = storage_s3_block_size(block);

    make_room(cache);
    block->slot = take_slot(cache);
    if (pwrite(cache->fd, at, size, (off_t)(block->slot * S3_BLOCK_BYTES)) != (ssize_t)size) {
        int code = errno;

        give_slot(cache, block->slot);
        return weir_fail(err, WEIR_IO, "what was fetched cannot be kept: %s", strerror(code));
    }
    block->state = S3_BLOCK_THERE;
    cache->there_count++;
    TAILQ_INSERT_HEAD(&cache->by_use, block, in_line);
    return WEIR_OK;
}

bool storage_s3_cache_read(struct s3_cache *cache, struct s3_block *block, size_t from, size_t size,
                           uint8_t *to)
{
    weir_require(block->state == S3_BLOCK_THERE);
    TAILQ_REMOVE(&cache->by_use, block, in_line);
    TAILQ_INSERT_HEAD(&cache->by_use, block, in_line);
    return pread(cache->fd, to, size, (off_t)(block->slot * S3_BLOCK_BYTES + from)) ==
           (ssize_t)size;
}

void storage_s3_cache_pin(struct s3_block *block)
{
    block->pins++;
}

void storage_s3_cache_unpin(struct s3_cache *cache, struct s3_block *block)
{
    weir_require(block->pins > 0);
    if (--block->pins == 0 && block->body->is_forgotten && block->state == S3_BLOCK_THERE)
        storage_s3_cache_drop(cache, block);
}

/* ---- bodies ---- */

static struct body_bucket *place_of(struct s3_cache *cache, uint32_t dataset, const char *path)
{
    return &cache->bodies[weir_hash64(weir_bytes_of(path), dataset) % BODY_BUCKETS];
}

struct s3_body *storage_s3_cache_body(struct s3_cache *cache, uint32_t dataset, const char *path)
{
    struct s3_body *body;

    LIST_FOREACH (body, place_of(cache, dataset, path), link) {
        if (body->dataset == dataset && strcmp(body->path, path) == 0)
            return body;
    }
    return NULL;
}

static void free_body(struct s3_body *body)
{
    free(body->path);
    free(body->etag);
    free(body);
}

void storage_s3_cache_tidy(struct s3_body *body)
{
    if (body->block_count > 0)
        return;
    if (!body->is_forgotten)
        LIST_REMOVE(body, link);
    free_body(body);
}

void storage_s3_cache_forget(struct s3_cache *cache, struct s3_body *body)
{
    struct s3_block *block = TAILQ_FIRST(&cache->by_use);

    LIST_REMOVE(body, link);
    body->is_forgotten = true;
    body->block_count++; /* it stays until the end of this */
    while (block != NULL) {
        struct s3_block *after = TAILQ_NEXT(block, in_line);

        if (block->body == body && block->pins == 0)
            storage_s3_cache_drop(cache, block);
        block = after;
    }
    body->block_count--;
    storage_s3_cache_tidy(body);
}

void storage_s3_cache_forget_path(struct s3_cache *cache, uint32_t dataset, const char *path)
{
    struct s3_body *body = storage_s3_cache_body(cache, dataset, path);

    if (body != NULL)
        storage_s3_cache_forget(cache, body);
}

struct s3_body *storage_s3_cache_add_body(struct s3_cache *cache, const struct s3_body *model)
{
    struct s3_body *body = weir_calloc(1, sizeof(*body));

    storage_s3_cache_forget_path(cache, model->dataset, model->path);
    *body = *model;
    body->path = weir_strdup(model->path);
    body->etag = weir_strdup(model->etag);
    body->block_count = 0;
    body->is_forgotten = false;
    LIST_INSERT_HEAD(place_of(cache, body->dataset, body->path), body, link);
    return body;
}

/* ---- life ---- */

struct s3_cache *storage_s3_cache_new(const char *folder, size_t blocks_max)
{
    struct s3_cache *cache = weir_calloc(1, sizeof(*cache));

    cache->folder = folder;
    cache->fd = -1;
    cache->blocks_max = blocks_max;
    TAILQ_INIT(&cache->by_use);
    return cache;
}

enum weir_status storage_s3_cache_open(struct s3_cache *cache, struct weir_error *err)
{
    WEIR_AUTO_FREE char *path = weir_format("%s/.fetched", cache->folder);
    int fd;

    if (cache->fd >= 0)
        return WEIR_OK;
    fd = open(path, O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOFOLLOW, 0600);
    if (fd < 0 || unlink(path) < 0) {
        int code = errno;

        if (fd >= 0)
            close(fd);
        return weir_fail(err, WEIR_IO, "%s: cannot keep there what is fetched: %s", path,
                         strerror(code));
    }
    cache->fd = fd;
    return WEIR_OK;
}

static void free_blocks(struct block_bucket *bucket)
{
    while (!LIST_EMPTY(bucket)) {
        struct s3_block *block = LIST_FIRST(bucket);

        LIST_REMOVE(block, link);
        if (--block->body->block_count == 0 && block->body->is_forgotten)
            free_body(block->body);
        free(block);
    }
}

static void free_bodies(struct body_bucket *bucket)
{
    while (!LIST_EMPTY(bucket)) {
        struct s3_body *body = LIST_FIRST(bucket);

        LIST_REMOVE(body, link);
        free_body(body);
    }
}

void storage_s3_cache_free(struct s3_cache *cache)
{
    if (cache == NULL)
        return;
    for (size_t i = 0; i < BLOCK_BUCKETS; i++)
        free_blocks(&cache->blocks[i]);
    for (size_t i = 0; i < BODY_BUCKETS; i++)
        free_bodies(&cache->bodies[i]);
    free(cache->free_slots);
    if (cache->fd >= 0)
        close(cache->fd);
    free(cache);
}
