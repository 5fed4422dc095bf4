/* See s3_transport.h. */
#include "storage/objects/s3_transport.h"

#include "core/base/clock.h"
#include "core/base/memory.h"

#include <stdlib.h>

struct s3_transport {
    struct weir_loop *loop;
    struct identities *identities;
    struct weir_transfers *transfers;
};

struct identity *storage_s3_transport_identity(const struct s3_transport *transport,
                                               const struct s3_signer *signer)
{
    return storage_identities_find(transport->identities, signer->profile);
}

const struct s3_credentials *storage_s3_transport_keys(const struct s3_transport *transport,
                                                       const struct s3_signer *signer)
{
    return signer->is_found ? storage_identity_now(storage_s3_transport_identity(transport, signer),
                                                   weir_now_wall_us())
                            : &signer->keys;
}

struct weir_loop *storage_s3_transport_loop(const struct s3_transport *transport)
{
    return transport->loop;
}

struct weir_transfers *storage_s3_transport_transfers(const struct s3_transport *transport)
{
    return transport->transfers;
}

struct s3_transport *storage_s3_transport_new(struct weir_loop *loop)
{
    struct s3_transport *transport = weir_calloc(1, sizeof(*transport));

    transport->loop = loop;
    transport->identities = storage_identities_new(loop);
    transport->transfers = weir_transfers_new(loop, S3_HOST_REQUESTS_MAX);
    return transport;
}

void storage_s3_transport_free(struct s3_transport *transport)
{
    if (transport == NULL)
        return;
    weir_transfers_free(transport->transfers);
    storage_identities_free(transport->identities);
    free(transport);
}
