/* Handshakes of a socket that failed, as ZeroMQ tells of them. For core/rpc alone. */
#ifndef WEIR_RPC_HANDSHAKES_H
#define WEIR_RPC_HANDSHAKES_H

#include "core/loop/loop.h"

enum { WEIR_HANDSHAKE_DENIED = 400 /* by a gate, which has looked at the key */ };

struct weir_handshakes;
/* `value`: WEIR_HANDSHAKE_DENIED, or something else. */
typedef void weir_handshake_failed_fn(void *owner, uint32_t value);

/* Watches `socket`. LIMIT when the process can have no more sockets or descriptors. */
enum weir_status weir_handshakes_watch(struct weir_loop *loop, void *socket,
                                       weir_handshake_failed_fn *fn, void *owner,
                                       struct weir_handshakes **ret_handshakes,
                                       struct weir_error *err) WEIR_MUST_USE;
/* Before the socket is closed; NULL is fine. */
void weir_handshakes_free(struct weir_handshakes *handshakes);
/* The socket that tells of them, for who waits outside the loop, and taking what it has told. */
void *weir_handshakes_socket(const struct weir_handshakes *handshakes);
void weir_handshakes_take(void *handshakes);

#endif
