/* The only place that opens ZeroMQ sockets, so that none lacks its bounds. For core/rpc alone. */
#ifndef WEIR_RPC_SOCKET_H
#define WEIR_RPC_SOCKET_H

#include "core/base/error.h"
#include "core/loop/loop.h"
#include "core/rpc/pair.h"

#include <stddef.h>

enum weir_socket_kind {
    WEIR_SOCKET_SERVER, /* ROUTER, bound */
    WEIR_SOCKET_PEER,   /* DEALER, connected, with an identity of its own */
};

/* A socket as it is to be. */
struct weir_socket_plan {
    enum weir_socket_kind kind;
    const char *address; /* a server's is its endpoint; keys are made for it */
    /* keys of those who come from, or are let in from, elsewhere; NULL: this host alone */
    const struct weir_pair *pair;
};

/* Largest message that such a socket takes, all its frames together. */
size_t weir_socket_bytes_max(const struct weir_socket_plan *plan);
/* A socket with all its bounds and keys that is neither bound nor connected yet: who watches it now misses nothing. */
enum weir_status weir_socket_new(struct weir_loop *loop, const struct weir_socket_plan *plan,
                                 void **ret_socket, struct weir_error *err) WEIR_MUST_USE;
/* Binds or connects it. IO: "socket /run/x.sock is in use by another process …", or what the system says. */
enum weir_status weir_socket_begin(void *socket, const struct weir_socket_plan *plan,
                                   struct weir_error *err) WEIR_MUST_USE;
/* Both. */
enum weir_status weir_socket_open(struct weir_loop *loop, const struct weir_socket_plan *plan,
                                  void **ret_socket, struct weir_error *err) WEIR_MUST_USE;
/* Lets sent messages leave for so long after closing: destroying the context waits for them. */
void weir_socket_linger(void *socket, int linger_ms);
/* Returns the kernel's name of a connection, which no other one ever has, unlike its descriptor; 0: it is none. */
uint64_t weir_socket_cookie(int fd);
/* `bound`: the endpoint of a server, NULL for a peer. When this returns it can be bound again. */
void weir_socket_close(void *socket, const char *bound);

#endif
