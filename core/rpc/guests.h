/* Connections that a server was reached by under keys, by descriptor: whose they are, and that they still are. The
 * descriptor of a connection that is over may be another one's, which the kernel's name of a socket tells. Beside
 * them it knows those that inflow.h counts, if that is linked. Loop thread. For core/rpc alone. */
#ifndef WEIR_RPC_GUESTS_H
#define WEIR_RPC_GUESTS_H

#include "core/rpc/keyring.h"
#include "core/rpc/pair.h"

/* Zero-initialised is empty. */
struct weir_guests {
    struct weir_guest *at; /* by descriptor */
    size_t count;
};
void weir_guests_fini(struct weir_guests *guests);

/* Notes that a message came by connection `fd` under this key. Returns the kernel's name of it; 0: it is over. */
uint64_t weir_guests_note(struct weir_guests *guests, int fd, const char *public);
/* True when the connection is still there, and its key in the keyring. */
bool weir_guests_may_be_told(const struct weir_guests *guests, const struct weir_keyring *keyring,
                             int fd, uint64_t cookie);
/* Cuts every connection whose key is not in the keyring, and those that nothing has come by yet: they connect again. */
void weir_guests_keep_to(struct weir_guests *guests, const struct weir_keyring *keyring);
/* Cuts one, if it is still there. */
void weir_guests_cut(struct weir_guests *guests, int fd, uint64_t cookie);

#endif
