/* The one way to object stores: the requests of all calls (s3_call.h), which share connections, and the keys that they
 * are signed with. Owned by struct storage; outlives every call. */
#ifndef WEIR_STORAGE_S3_TRANSPORT_H
#define WEIR_STORAGE_S3_TRANSPORT_H

#include "core/http/transfers.h"
#include "storage/identity/identity.h"

enum { S3_HOST_REQUESTS_MAX = 64 }; /* the most `transfers` that a dataset can have */

struct s3_transport;

struct s3_transport *storage_s3_transport_new(struct weir_loop *loop);
void storage_s3_transport_free(struct s3_transport *transport);
/* Keys that are found rather than declared, shared by all calls. */
struct identities *storage_s3_transport_identities(const struct s3_transport *transport);
struct weir_loop *storage_s3_transport_loop(const struct s3_transport *transport);
struct weir_transfers *storage_s3_transport_transfers(const struct s3_transport *transport);

#endif
