/* Bytes that one process makes once, for several others on the same host: sealed memory without a name, which no other
 * process can change or shrink, mapped copy-on-write by each of them. Who writes to it writes to pages of his own; who
 * dies takes nothing from the others. The kernel frees it with the last that has it.
 *
 * Its descriptor goes over a local socket, the *way*, for /proc is closed to processes in jails. The maker listens;
 * each reader connects, says who it is, and is sent descriptors with their keys before whatever names the key to it.
 *
 * The maker uses memory again once no reader has it. Nobody's word is needed for that: each reader is sent an
 * open file description of its own, under a shared lock (flock(2)), which lasts as long as the message, the descriptor
 * or a mapping of it does, and which the kernel ends with the process. A reader can give up its own lock, or look at
 * what is left behind a batch that is shorter than the one before: it sees bytes of its own subject, for memory is used
 * again for that alone. */
#ifndef WEIR_RPC_PUBLISHED_H
#define WEIR_RPC_PUBLISHED_H

#include "core/base/bytes.h"
#include "core/loop/loop.h"

#include <stdatomic.h>

enum {
    WEIR_PUBLISHED_BYTES_MAX = 1 << 30,
    WEIR_WAYS_MAX = 256,       /* readers of one maker */
    WEIR_PUBLISHED_POOL = 512, /* pieces of memory that are used again */
};

/* ---- the maker ---- */

struct weir_published {
    uint8_t *at; /* 64-byte aligned; writable until it is sealed */
    size_t size;
    uint64_t key;          /* random */
    _Atomic uint64_t word; /* the caller's */
    int fd;
    uint64_t subject; /* of a pool's: as it was taken first */
    bool is_sealed;
    size_t references;
};

/* NULL: there is no such memory, or not so much. */
struct weir_published *weir_published_new(size_t size) WEIR_MUST_USE;
/* From now on no reader can change it, nor its maker by mistake; it stays where it is. False: the system does not do
 * it. */
bool weir_published_seal(struct weir_published *published) WEIR_MUST_USE;
struct weir_published *weir_published_share(struct weir_published *published);
void weir_published_free(struct weir_published *published); /* the last reference; NULL is fine */

/* Memory that was published and is kept to be used again, with what it holds. Memory that a caller or a reader has is
 * there anyhow, and is not limited here. Zeroed, with a maximum, is empty. */
struct weir_published_pool {
    size_t idle_bytes_max; /* of what nobody has when more is made */
    size_t count;
    struct weir_published *of[WEIR_PUBLISHED_POOL];
    bool is_used[WEIR_PUBLISHED_POOL]; /* since the last trim */
};

/* Returns writable memory of `size` bytes or more: of the pool, if no reader has it and it was for the same `subject`,
 * whose readers may have all that it held, or new. NULL as above. */
struct weir_published *weir_published_pool_take(struct weir_published_pool *pool, uint64_t subject,
                                                size_t size) WEIR_MUST_USE;
/* Gives up memory that was not taken since the last time. */
void weir_published_pool_trim(struct weir_published_pool *pool);
/* Gives up all of it: what it holds is gone once its readers have gone. */
void weir_published_pool_clear(struct weir_published_pool *pool);

struct weir_ways;
/* Listens at the path of a socket beside `address` ("ipc://…"). NULL: there is none for this address. */
struct weir_ways *weir_ways_new(struct weir_loop *loop, const char *address);
void weir_ways_free(struct weir_ways *ways);
/* Sends it to the reader that calls itself `reader`. False: there is no such way, or it is full. */
bool weir_ways_send(struct weir_ways *ways, uint64_t reader,
                    const struct weir_published *published) WEIR_MUST_USE;

/* ---- a reader ---- */

/* Connects to the maker at `address`, without waiting; -1: there is no way. The caller closes it. */
int weir_way_open(const char *address, uint64_t reader) WEIR_MUST_USE;
/* Maps the memory of that key, which was sent before; `size` bytes of it are needed. NULL: it did not come, or could
 * still change, or is too small. What was sent before it is given up. */
uint8_t *weir_way_take(int way, uint64_t key, size_t size) WEIR_MUST_USE;
/* True while the maker lives. */
bool weir_way_is_open(int way);
void weir_published_unmap(uint8_t *at, size_t size);

#endif
