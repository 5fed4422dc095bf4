/* Deciding handshakes of servers that are bound with a pair: ZeroMQ asks of each, by ZAP
 * (https://rfc.zeromq.org/spec/27), and goes on with the connection only when the key is in the keyring of now. The
 * key is then named with each message. One for each context; answered on the loop's thread. For core/rpc alone. */
#ifndef WEIR_RPC_GATE_H
#define WEIR_RPC_GATE_H

#include "core/loop/loop.h"
#include "core/rpc/keyring.h"

struct weir_gate;

/* A key that was turned away, and where it came from. */
typedef void weir_gate_denied_fn(void *owner, const char *public, const char *address);

/* `keyring` is borrowed. Handshakes wait until weir_gate_begin(). EXISTS when the context has one already. */
enum weir_status weir_gate_open(struct weir_loop *loop, const struct weir_keyring *keyring,
                                weir_gate_denied_fn *denied, void *owner,
                                struct weir_gate **ret_gate, struct weir_error *err) WEIR_MUST_USE;
/* The keyring is set: from now on handshakes are decided. Thousands may wait after a restart: each would cost as much
 * again if it was turned away until then. */
void weir_gate_begin(struct weir_gate *gate);
/* After the servers are closed; NULL is fine. */
void weir_gate_close(struct weir_gate *gate);

#endif
