/* See s3_transport.h. */
#include "storage/objects/s3_transport.h"

#include "core/base/memory.h"

#include <stdlib.h>

struct s3_transport {
    struct weir_loop *loop;
    struct identities *identities;
    struct weir_transfers *transfers;
};

struct identities *storage_s3_transport_identities(const struct s3_transport *transport)
{
    return transport->identities;
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
