/* Bytes that one process makes once, for several others on the same host: sealed memory without a name, which nobody
 * can change or shrink any more, mapped copy-on-write by each of them. Who writes to it writes to pages of his own; who
 * dies takes nothing from the others. The kernel frees it with the last that has it: it is never used again.
 *
 * Its descriptor goes over a local socket, the *way*, for /proc is closed to processes in jails. The maker listens;
 * each reader connects, says who it is, and is sent descriptors with their keys before whatever names the key to it. */
#ifndef WEIR_RPC_PUBLISHED_H
#define WEIR_RPC_PUBLISHED_H

#include "core/base/bytes.h"
#include "core/loop/loop.h"

#include <stdatomic.h>

enum { WEIR_PUBLISHED_BYTES_MAX = 1 << 30, WEIR_WAYS_MAX = 256 /* readers of one maker */ };

/* ---- the maker ---- */

struct weir_published {
    uint8_t *at; /* 64-byte aligned; writable until it is sealed */
    size_t size;
    uint64_t key;          /* random */
    _Atomic uint64_t word; /* the caller's */
    int fd;
    size_t references;
};

/* NULL: there is no such memory, or not so much. */
struct weir_published *weir_published_new(size_t size) WEIR_MUST_USE;
/* From now on nobody can change it, its maker included; it stays where it is. False: the system does not do it. */
bool weir_published_seal(struct weir_published *published) WEIR_MUST_USE;
struct weir_published *weir_published_share(struct weir_published *published);
void weir_published_free(struct weir_published *published); /* the last reference; NULL is fine */

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
