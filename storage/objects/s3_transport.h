/* The one way to object stores: the requests of all calls (s3_call.h), which share connections, and the keys that they
 * are signed with. Owned by struct storage; outlives every call. */
#ifndef WEIR_STORAGE_S3_TRANSPORT_H
#define WEIR_STORAGE_S3_TRANSPORT_H

#include "core/http/transfers.h"
#include "storage/identity/identity.h"
#include "storage/objects/s3_signer.h"

enum { S3_HOST_REQUESTS_MAX = 64 }; /* the most `transfers` that a dataset can have */

struct s3_transport;

struct s3_transport *storage_s3_transport_new(struct weir_loop *loop);
void storage_s3_transport_free(struct s3_transport *transport);
/* Keys that are found rather than declared: those of a signer, shared by all calls. */
struct identity *storage_s3_transport_identity(const struct s3_transport *transport,
                                               const struct s3_signer *signer);
/* Keys of a signer, declared or found; NULL: there are none at this moment. Valid until the loop goes on. */
const struct s3_credentials *storage_s3_transport_keys(const struct s3_transport *transport,
                                                       const struct s3_signer *signer);
struct weir_loop *storage_s3_transport_loop(const struct s3_transport *transport);
struct weir_transfers *storage_s3_transport_transfers(const struct s3_transport *transport);

#endif
