/* Connections to a TCP endpoint that ZeroMQ turned away, because whoever was there did not have the key (keys.h). They
 * cost a count each, and a line of the log a minute at most. For core/rpc alone. */
#ifndef WEIR_RPC_STRANGERS_H
#define WEIR_RPC_STRANGERS_H

#include "core/loop/loop.h"

struct weir_strangers;

/* Watches `socket`, a server's; `endpoint` is for the log, and borrowed. `is_keyed`: each peer has a key of its own,
 * and those are counted whom a gate has turned away. LIMIT when the process can have no more sockets or
 * descriptors. */
enum weir_status weir_strangers_watch(struct weir_loop *loop, void *socket, const char *endpoint,
                                      bool is_keyed, struct weir_strangers **ret_strangers,
                                      struct weir_error *err) WEIR_MUST_USE;
/* Before the socket is closed; NULL is fine. */
void weir_strangers_free(struct weir_strangers *strangers);
uint64_t weir_strangers_count(const struct weir_strangers *strangers); /* NULL: 0 */

#endif
