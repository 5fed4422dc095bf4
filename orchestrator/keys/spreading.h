/* The list of keys on its way to the services: to each when it is ready, and at each change, until it has noted it. */
#ifndef ORCHESTRATOR_KEYS_SPREADING_H
#define ORCHESTRATOR_KEYS_SPREADING_H

#include "core/rpc/keyring.h"
#include "orchestrator/context/context.h"

enum { KEYS_HOLDERS = 3 };

/* One service of the platform. */
struct keys_holder {
    struct keys_spreading *of;
    const char *name;
    struct weir_rpc_peer *peer;
    uint64_t session; /* incarnation that has noted it; 0: none */
    uint64_t noted;   /* number that is in force there */
    bool is_asked;    /* a request is open */
};

/* Owned by: struct keys. */
struct keys_spreading {
    struct context *context;
    struct weir_rpc_server *server;     /* of this process */
    const struct weir_keyring *keyring; /* the list of now */
    struct keys_holder holders[KEYS_HOLDERS];
    uint64_t timer; /* 0: nobody has to be told */
};

void orchestrator_keys_spread_begin(struct keys_spreading *spreading);
/* The list has changed. */
void orchestrator_keys_spread(struct keys_spreading *spreading);
void orchestrator_keys_spread_end(struct keys_spreading *spreading);

#endif
