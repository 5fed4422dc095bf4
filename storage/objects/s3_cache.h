/* Blocks of objects that have been fetched, or are to be: a bounded cache in a file without a name, so that nothing of
 * it outlives the process. What was not used for long makes room, unless somebody has pinned it. Owned by the
 * mirrors; s3_ranges.h says what is fetched when. */
#ifndef WEIR_STORAGE_S3_CACHE_H
#define WEIR_STORAGE_S3_CACHE_H

#include "core/base/bytes.h"
#include "core/base/cache.h"
#include "core/base/error.h"

#include <sys/queue.h>

enum { S3_BLOCK_BYTES = 16 << 10 };

/* An object, as the file in its place in the mirror and its ETag tell it from any other. */
struct s3_body {
    struct weir_cache_entry entry;
    uint32_t dataset;
    char *path; /* below the mirror */
    char *etag;
    uint64_t inode, size;
    int64_t mtime_ns;
    size_t block_count;
    bool is_forgotten; /* no longer found; goes with its last block */
};

enum s3_block_state { S3_BLOCK_WANTED, S3_BLOCK_COMING, S3_BLOCK_THERE };

struct s3_wait;

struct s3_block {
    struct weir_cache_entry entry; /* of size 1 when there, else 0 */
    TAILQ_ENTRY(s3_block) in_line; /* in the caller's queue while wanted */
    struct s3_body *body;
    uint64_t index;
    enum s3_block_state state;
    size_t slot; /* when there */
    size_t pins;
    LIST_HEAD(, s3_wait) waits; /* the caller's */
};

TAILQ_HEAD(s3_block_queue, s3_block);

struct s3_cache;

/* Its file will be in `folder`, which outlives it. */
struct s3_cache *storage_s3_cache_new(const char *folder, size_t blocks_max);
/* Makes the file, before the first block is stored. Repeating it is harmless. IO when there can be none. */
enum weir_status storage_s3_cache_open(struct s3_cache *cache,
                                       struct weir_error *err) WEIR_MUST_USE;
/* Frees all blocks, pinned or not. */
void storage_s3_cache_free(struct s3_cache *cache);

/* NULL when nothing is known of it. */
struct s3_body *storage_s3_cache_body(struct s3_cache *cache, uint32_t dataset, const char *path);
/* Copies what `model` says; forgets what was known under that path. */
struct s3_body *storage_s3_cache_add_body(struct s3_cache *cache, const struct s3_body *model);
/* Overwrites its blocks with zeros, as soon as nobody pins them. */
void storage_s3_cache_forget(struct s3_cache *cache, struct s3_body *body);
/* The same of what is known under this path, if anything is. */
void storage_s3_cache_forget_path(struct s3_cache *cache, uint32_t dataset, const char *path);

struct s3_block *storage_s3_cache_find(struct s3_cache *cache, const struct s3_body *body,
                                       uint64_t index);
/* A new one, wanted. */
struct s3_block *storage_s3_cache_add(struct s3_cache *cache, struct s3_body *body, uint64_t index);
/* Returns its length: the last block of an object is shorter. */
size_t storage_s3_block_size(const struct s3_block *block);
/* Stores the bytes of a block that has come. IO when they cannot be kept. */
enum weir_status storage_s3_cache_store(struct s3_cache *cache, struct s3_block *block,
                                        const uint8_t *at, struct weir_error *err) WEIR_MUST_USE;
/* Reads from one that is there, and counts as its use. */
bool storage_s3_cache_read(struct s3_cache *cache, struct s3_block *block, size_t from, size_t size,
                           uint8_t *to);
void storage_s3_cache_pin(struct s3_block *block);
void storage_s3_cache_unpin(struct s3_cache *cache, struct s3_block *block);
/* Drops a block that will not come, and that nobody pins. */
void storage_s3_cache_drop(struct s3_cache *cache, struct s3_block *block);

#endif
