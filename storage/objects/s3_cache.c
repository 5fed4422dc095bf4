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

struct s3_cache {
    int fd;
    size_t blocks_max;
    struct s3_body *bodies[BODY_BUCKETS];
    struct s3_block *blocks[BLOCK_BUCKETS];
    struct s3_block by_use; /* a ring: what was used last comes behind it */
    size_t there_count;
    size_t *free_slots;
    size_t free_count, free_capacity, slot_count;
};

/* ---- slots ---- */

/* What was in it is nobody's to find. */
static void give_slot(struct s3_cache *cache, size_t slot)
{
    static const uint8_t ZEROS[S3_BLOCK_BYTES];

    if (pwrite(cache->fd, ZEROS, sizeof ZEROS, (off_t)(slot * S3_BLOCK_BYTES)) < 0)
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

static struct s3_block **bucket_of(struct s3_cache *cache, const struct s3_body *body,
                                   uint64_t index)
{
    return &cache->blocks[weir_mix64((uint64_t)(uintptr_t)body ^ index << 32 ^ index) %
                          BLOCK_BUCKETS];
}

struct s3_block *s3_cache_find(struct s3_cache *cache, const struct s3_body *body, uint64_t index)
{
    struct s3_block *block = *bucket_of(cache, body, index);

    while (block && (block->body != body || block->index != index))
        block = block->next;
    return block;
}

struct s3_block *s3_cache_add(struct s3_cache *cache, struct s3_body *body, uint64_t index)
{
    struct s3_block **bucket = bucket_of(cache, body, index);
    struct s3_block *block = weir_calloc(1, sizeof *block);

    *block = (struct s3_block){.next = *bucket, .body = body, .index = index};
    *bucket = block;
    body->block_count++;
    return block;
}

size_t s3_block_size(const struct s3_block *block)
{
    uint64_t left = block->body->size - block->index * S3_BLOCK_BYTES;

    return left < S3_BLOCK_BYTES ? (size_t)left : S3_BLOCK_BYTES;
}

static void unlink_use(struct s3_block *block)
{
    block->before->after = block->after;
    block->after->before = block->before;
}

static void link_use(struct s3_cache *cache, struct s3_block *block)
{
    block->before = &cache->by_use;
    block->after = cache->by_use.after;
    block->before->after = block->after->before = block;
}

void s3_cache_drop(struct s3_cache *cache, struct s3_block *block)
{
    struct s3_block **place = bucket_of(cache, block->body, block->index);

    while (*place != block)
        place = &(*place)->next;
    *place = block->next;
    if (block->state == S3_BLOCK_THERE) {
        unlink_use(block);
        cache->there_count--;
        give_slot(cache, block->slot);
    }
    block->body->block_count--;
    s3_cache_tidy(cache, block->body);
    free(block);
}

static void make_room(struct s3_cache *cache)
{
    struct s3_block *block = cache->by_use.before;

    while (cache->there_count >= cache->blocks_max && block != &cache->by_use) {
        struct s3_block *before = block->before;

        if (block->pins == 0)
            s3_cache_drop(cache, block);
        block = before;
    }
}

enum weir_status s3_cache_store(struct s3_cache *cache, struct s3_block *block, const uint8_t *at,
                                struct weir_error *err)
{
    size_t size = s3_block_size(block);

    make_room(cache);
    block->slot = take_slot(cache);
    if (pwrite(cache->fd, at, size, (off_t)(block->slot * S3_BLOCK_BYTES)) != (ssize_t)size) {
        int code = errno;

        give_slot(cache, block->slot);
        return weir_fail(err, WEIR_IO, "what was fetched cannot be kept: %s", strerror(code));
    }
    block->state = S3_BLOCK_THERE;
    cache->there_count++;
    link_use(cache, block);
    return WEIR_OK;
}

bool s3_cache_read(struct s3_cache *cache, struct s3_block *block, size_t from, size_t size,
                   uint8_t *to)
{
    weir_require(block->state == S3_BLOCK_THERE);
    unlink_use(block);
    link_use(cache, block);
    return pread(cache->fd, to, size, (off_t)(block->slot * S3_BLOCK_BYTES + from)) ==
           (ssize_t)size;
}

void s3_cache_pin(struct s3_block *block)
{
    block->pins++;
}

void s3_cache_unpin(struct s3_cache *cache, struct s3_block *block)
{
    weir_require(block->pins > 0);
    if (--block->pins == 0 && block->body->is_forgotten && block->state == S3_BLOCK_THERE)
        s3_cache_drop(cache, block);
}

/* ---- bodies ---- */

static struct s3_body **place_of(struct s3_cache *cache, uint32_t dataset, const char *path)
{
    return &cache->bodies[weir_hash64(weir_bytes_of(path), dataset) % BODY_BUCKETS];
}

struct s3_body *s3_cache_body(struct s3_cache *cache, uint32_t dataset, const char *path)
{
    struct s3_body *body = *place_of(cache, dataset, path);

    while (body && (body->dataset != dataset || strcmp(body->path, path) != 0))
        body = body->next;
    return body;
}

static void take_out(struct s3_cache *cache, struct s3_body *body)
{
    struct s3_body **place = place_of(cache, body->dataset, body->path);

    while (*place != body)
        place = &(*place)->next;
    *place = body->next;
}

static void free_body(struct s3_body *body)
{
    free(body->path);
    free(body->etag);
    free(body);
}

void s3_cache_tidy(struct s3_cache *cache, struct s3_body *body)
{
    if (body->block_count > 0)
        return;
    if (!body->is_forgotten)
        take_out(cache, body);
    free_body(body);
}

void s3_cache_forget(struct s3_cache *cache, struct s3_body *body)
{
    struct s3_block *block = cache->by_use.after;

    take_out(cache, body);
    body->is_forgotten = true;
    body->block_count++; /* it stays until the end of this */
    while (block != &cache->by_use) {
        struct s3_block *after = block->after;

        if (block->body == body && block->pins == 0)
            s3_cache_drop(cache, block);
        block = after;
    }
    body->block_count--;
    s3_cache_tidy(cache, body);
}

struct s3_body *s3_cache_add_body(struct s3_cache *cache, const struct s3_body *model)
{
    struct s3_body *known = s3_cache_body(cache, model->dataset, model->path);
    struct s3_body **place = place_of(cache, model->dataset, model->path);
    struct s3_body *body = weir_calloc(1, sizeof *body);

    if (known)
        s3_cache_forget(cache, known);
    *body = *model;
    body->path = weir_strdup(model->path);
    body->etag = weir_strdup(model->etag);
    body->block_count = 0;
    body->is_forgotten = false;
    body->next = *place;
    *place = body;
    return body;
}

/* ---- life ---- */

enum weir_status s3_cache_new(const char *folder, size_t blocks_max, struct s3_cache **ret_cache,
                              struct weir_error *err)
{
    WEIR_AUTO_FREE char *path = weir_format("%s/.fetched", folder);
    struct s3_cache *cache;
    int fd = open(path, O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOFOLLOW, 0600);

    if (fd < 0 || unlink(path) < 0) {
        int code = errno;

        if (fd >= 0)
            close(fd);
        return weir_fail(err, WEIR_IO, "%s: cannot keep there what is fetched: %s", path,
                         strerror(code));
    }
    cache = weir_calloc(1, sizeof *cache);
    cache->fd = fd;
    cache->blocks_max = blocks_max;
    cache->by_use.before = cache->by_use.after = &cache->by_use;
    *ret_cache = cache;
    return WEIR_OK;
}

static void free_chain(struct s3_block *block)
{
    while (block) {
        struct s3_block *next = block->next;

        if (--block->body->block_count == 0 && block->body->is_forgotten)
            free_body(block->body);
        free(block);
        block = next;
    }
}

void s3_cache_free(struct s3_cache *cache)
{
    if (!cache)
        return;
    for (size_t i = 0; i < BLOCK_BUCKETS; i++)
        free_chain(cache->blocks[i]);
    for (size_t i = 0; i < BODY_BUCKETS; i++) {
        for (struct s3_body *body = cache->bodies[i], *next; body; body = next) {
            next = body->next;
            free_body(body);
        }
    }
    free(cache->free_slots);
    close(cache->fd);
    free(cache);
}
