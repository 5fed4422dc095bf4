/* Bounds of what ZeroMQ holds of messages to peers that do not read them. Its own option bounds their number for each
 * peer (ZMQ_SNDHWM), not their bytes. Messages of WEIR_OUTFLOW_SMALL bytes and more are counted until they leave; a
 * peer that has WEIR_OUTFLOW_PEER_MAX of them waiting, or any while all peers together have WEIR_OUTFLOW_MAX, gets no
 * more of them: it asks again if it still cares. One always passes. Owned by a listener; loop thread. For core/rpc
 * alone. */
#ifndef WEIR_RPC_OUTFLOW_H
#define WEIR_RPC_OUTFLOW_H

#include "core/rpc/rpc.h"

#include <sys/queue.h>
#include <zmq.h>

enum {
    WEIR_OUTFLOW_SMALL = 16 << 10,
    WEIR_OUTFLOW_PEER_MAX = 128 << 20,
    WEIR_OUTFLOW_MAX = 512 << 20,
};

/* Zero-initialised is empty and valid. */
struct weir_outflow {
    LIST_HEAD(, outflow_debt) debts;
};
void weir_outflow_fini(struct weir_outflow *outflow);

/* Makes the header frame of a message of `bytes` in all, header included, to a peer. False: it must not be sent now.
 * `outflow` NULL: what is bounded otherwise, and passes. */
bool weir_outflow_frame(struct weir_outflow *outflow, const struct weir_route *route,
                        struct weir_bytes header, size_t bytes, zmq_msg_t *ret_frame) WEIR_MUST_USE;

#endif
