/* Handshakes of a socket that failed, and whether a peer has its server, as ZeroMQ tells of them. For core/rpc
 * alone. */
#ifndef WEIR_RPC_HANDSHAKES_H
#define WEIR_RPC_HANDSHAKES_H

#include "core/loop/loop.h"

enum { WEIR_HANDSHAKE_DENIED = 400 /* by a gate, which has looked at the key */ };

/* While anybody is told that bytes broke the protocol, ZeroMQ 4.3 forgets to end the connection: it stands still, until
 * the handshake is timed out, or, once that is over, for good. */
enum weir_handshakes_told {
    WEIR_HANDSHAKES_JUDGED, /* by a gate, and those that were given up */
    WEIR_HANDSHAKES_ALL,
};

struct weir_handshakes;
/* `value`: WEIR_HANDSHAKE_DENIED, or something else. */
typedef void weir_handshake_failed_fn(void *owner, uint32_t value);
/* Steps of the one connection of a socket. */
enum weir_handshakes_step {
    WEIR_HANDSHAKES_THROUGH, /* its handshake is */
    WEIR_HANDSHAKES_OVER,    /* it is */
    WEIR_HANDSHAKES_AGAIN, /* ZeroMQ will connect again: it does not where bytes broke the protocol */
};
typedef void weir_handshake_stepped_fn(void *owner, enum weir_handshakes_step step);
struct weir_handshakes_listener {
    enum weir_handshakes_told told;
    weir_handshake_failed_fn *fn;
    void *owner;
    weir_handshake_stepped_fn *stepped; /* of a socket with one connection; NULL: nobody asks */
};

/* Watches `socket`. LIMIT when the process can have no more sockets or descriptors. */
enum weir_status weir_handshakes_watch(struct weir_loop *loop, void *socket,
                                       const struct weir_handshakes_listener *listener,
                                       struct weir_handshakes **ret_handshakes,
                                       struct weir_error *err) WEIR_MUST_USE;
/* Before the socket is closed; NULL is fine. */
void weir_handshakes_free(struct weir_handshakes *handshakes);
/* The socket that tells of them, for who waits outside the loop, and taking what it has told. */
void *weir_handshakes_socket(const struct weir_handshakes *handshakes);
void weir_handshakes_take(void *handshakes);

#endif
