/* Requests of this process over HTTP: libcurl in the loop. All share its connections, which are kept for the requests
 * that follow; no more than a given number go on with one host at the same time, and the others wait in a queue. */
#ifndef WEIR_HTTP_TRANSFERS_H
#define WEIR_HTTP_TRANSFERS_H

#include "core/loop/loop.h"

struct weir_transfers;

/* `host_max`: requests that go on with one host at the same time. Outlives every transfer. */
struct weir_transfers *weir_transfers_new(struct weir_loop *loop, unsigned host_max);
void weir_transfers_free(struct weir_transfers *transfers); /* NULL is fine */

/* An easy handle of libcurl, and the function called once when it is over, never from inside, which removes it. */
struct weir_transfer {
    void *easy;
    void (*over)(void *owner, int result); /* a CURLcode */
    void *owner;
};
/* `*transfer` lives until it is removed. */
void weir_transfers_add(struct weir_transfers *transfers, struct weir_transfer *transfer);
void weir_transfers_remove(struct weir_transfers *transfers, struct weir_transfer *transfer);

#endif
