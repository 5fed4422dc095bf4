/* The one way to object stores: libcurl in the loop of storage. All requests share its connections, which are kept for
 * the requests that follow; no more than S3_HOST_REQUESTS_MAX go on with one host at the same time, and the others wait
 * in a queue. Owned by struct storage; outlives every call (s3_call.h). */
#ifndef WEIR_STORAGE_S3_TRANSPORT_H
#define WEIR_STORAGE_S3_TRANSPORT_H

#include "core/loop/loop.h"
#include "storage/identity/identity.h"

enum { S3_HOST_REQUESTS_MAX = 64 }; /* the most `transfers` that a dataset can have */

struct s3_transport;

struct s3_transport *storage_s3_transport_new(struct weir_loop *loop);
void storage_s3_transport_free(struct s3_transport *transport);
/* Keys that are found rather than declared, shared by all calls. */
struct identities *storage_s3_transport_identities(const struct s3_transport *transport);
struct weir_loop *storage_s3_transport_loop(const struct s3_transport *transport);

/* For s3_call.c: an easy handle of libcurl, and the function called once when it is over, never from inside, which
 * removes it. */
struct s3_transfer {
    void *easy;
    void (*over)(void *owner, int result); /* a CURLcode */
    void *owner;
};
/* `*transfer` lives until it is removed. */
void storage_s3_transport_add(struct s3_transport *transport, struct s3_transfer *transfer);
void storage_s3_transport_remove(struct s3_transport *transport, struct s3_transfer *transfer);

#endif
