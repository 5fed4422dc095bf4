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

struct s3_cache {
    const char *folder;
    int fd; /* -1: not open yet */
    size_t blocks_max;
    struct weir_cache bodies, blocks;
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

static void free_body(struct s3_body *body)
{
    free(body->path);
    free(body->etag);
    free(body);
}

/* Frees a body that has no blocks, and is not known to anybody else. */
static void tidy(struct s3_cache *cache, struct s3_body *body)
{
    if (body->block_count > 0)
        return;
    if (!body->is_forgotten)
        weir_cache_remove(&cache->bodies, &body->entry);
    free_body(body);
}

static uint64_t hash_of(const struct s3_body *body, uint64_t index)
{
    return weir_mix64((uint64_t)(uintptr_t)body ^ index << 32 ^ index);
}

static bool is_block(const struct s3_block *block, const struct s3_body *body, uint64_t index)
{
    return block->body == body && block->index == index;
}

struct s3_block *storage_s3_cache_find(struct s3_cache *cache, const struct s3_body *body,
                                       uint64_t index)
{
    const struct weir_cache_entry *entry = weir_cache_find(&cache->blocks, hash_of(body, index));

    while (entry != NULL && !is_block(entry->owner, body, index))
        entry = weir_cache_find_next(entry);
    return entry != NULL ? entry->owner : NULL;
}

struct s3_block *storage_s3_cache_add(struct s3_cache *cache, struct s3_body *body, uint64_t index)
{
    struct s3_block *block = weir_calloc(1, sizeof(*block));

    *block = (struct s3_block){.body = body, .index = index};
    weir_cache_add(&cache->blocks, &block->entry, hash_of(body, index), 0, block);
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
    weir_cache_remove(&cache->blocks, &block->entry);
    if (block->state == S3_BLOCK_THERE)
        give_slot(cache, block->slot);
    block->body->block_count--;
    tidy(cache, block->body);
    free(block);
}

static bool may_go(const struct s3_block *block)
{
    return block->state == S3_BLOCK_THERE && block->pins == 0;
}

static void make_room(struct s3_cache *cache)
{
    for (size_t left = cache->blocks.count; left > 0 && cache->blocks.size >= cache->blocks_max;
         left--) {
        struct s3_block *block = weir_cache_oldest(&cache->blocks);

        if (may_go(block))
            storage_s3_cache_drop(cache, block);
        else
            block->entry.is_used = true; /* it is passed over */
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
    weir_cache_remove(&cache->blocks, &block->entry);
    weir_cache_add(&cache->blocks, &block->entry, hash_of(block->body, block->index), 1, block);
    return WEIR_OK;
}

bool storage_s3_cache_read(struct s3_cache *cache, struct s3_block *block, size_t from, size_t size,
                           uint8_t *to)
{
    weir_require(block->state == S3_BLOCK_THERE);
    block->entry.is_used = true;
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

static bool is_body(const struct s3_body *body, uint32_t dataset, const char *path)
{
    return body->dataset == dataset && strcmp(body->path, path) == 0;
}

struct s3_body *storage_s3_cache_body(struct s3_cache *cache, uint32_t dataset, const char *path)
{
    const struct weir_cache_entry *entry =
        weir_cache_find(&cache->bodies, weir_hash64(weir_bytes_of(path), dataset));

    while (entry != NULL && !is_body(entry->owner, dataset, path))
        entry = weir_cache_find_next(entry);
    return entry != NULL ? entry->owner : NULL;
}

void storage_s3_cache_forget(struct s3_cache *cache, struct s3_body *body)
{
    struct weir_cache_entry *entry = TAILQ_FIRST(&cache->blocks.order), *after;

    weir_cache_remove(&cache->bodies, &body->entry);
    body->is_forgotten = true;
    body->block_count++; /* it stays until the end of this */
    for (; entry != NULL; entry = after) {
        struct s3_block *block = entry->owner;

        after = TAILQ_NEXT(entry, in_order);
        if (block->body == body && may_go(block))
            storage_s3_cache_drop(cache, block);
    }
    body->block_count--;
    tidy(cache, body);
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
    weir_cache_add(&cache->bodies, &body->entry,
                   weir_hash64(weir_bytes_of(body->path), body->dataset), 1, body);
    return body;
}

/* ---- life ---- */

struct s3_cache *storage_s3_cache_new(const char *folder, size_t blocks_max)
{
    struct s3_cache *cache = weir_calloc(1, sizeof(*cache));

    cache->folder = folder;
    cache->fd = -1;
    cache->blocks_max = blocks_max;
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

void storage_s3_cache_free(struct s3_cache *cache)
{
    struct s3_block *block;
    struct s3_body *body;

    if (cache == NULL)
        return;
    while ((block = weir_cache_oldest(&cache->blocks)) != NULL) {
        weir_cache_remove(&cache->blocks, &block->entry);
        if (--block->body->block_count == 0 && block->body->is_forgotten)
            free_body(block->body);
        free(block);
    }
    while ((body = weir_cache_oldest(&cache->bodies)) != NULL) {
        weir_cache_remove(&cache->bodies, &body->entry);
        free_body(body);
    }
    weir_cache_fini(&cache->blocks);
    weir_cache_fini(&cache->bodies);
    free(cache->free_slots);
    if (cache->fd >= 0)
        close(cache->fd);
    free(cache);
}
