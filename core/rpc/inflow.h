/* Bounds of what ZeroMQ holds of messages that have not been taken up yet, over all frames, messages and connections.
 * Its own options bound a frame (ZMQ_MAXMSGSIZE) and the number of complete messages (ZMQ_RCVHWM) of one connection: a
 * message may have any number of frames, and all are in memory before the first is handed out.
 *
 * The programs of the platform have ZeroMQ's I/O threads read through inflow_hook.c, which shows each piece here first.
 * A connection that somebody made to us is charged what the piece will cost in memory, until the message is taken up.
 * One that is charged more than its bound is cut, as is the one with most when all together are: it can connect again,
 * and its requests are asked again. The bounds:
 *
 *   a local connection     WEIR_INFLOW_LOCAL_MAX
 *   one over TCP           WEIR_INFLOW_TCP_MAX since its newest message that was taken up: what is encrypted tells no
 *                          messages apart, of which ZeroMQ keeps 64 of 32 KiB (socket.c); WEIR_INFLOW_LOCAL_MAX where
 *                          the server knows each key; WEIR_INFLOW_HANDSHAKE_MAX for each frame of the handshake
 *   all of a process       WEIR_INFLOW_MAX, and WEIR_INFLOW_SMALL more for each connection: small ones are never cut
 *                          for what others do
 *
 * Nothing is charged without the hook: in the client library, and in most tests. Called by ZeroMQ's threads and the
 * loop's; process-wide. For core/rpc alone. */
#ifndef WEIR_RPC_INFLOW_H
#define WEIR_RPC_INFLOW_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
    WEIR_INFLOW_LOCAL_MAX = 128 << 20, /* two of the longest requests */
    WEIR_INFLOW_TCP_MAX = 2 << 20,
    WEIR_INFLOW_HANDSHAKE_MAX = 4 << 10, /* of CURVE, which takes less than a kilobyte */
    WEIR_INFLOW_MAX = 256 << 20,
    WEIR_INFLOW_SMALL = 1 << 20,
    WEIR_INFLOW_FRAME_BYTES = 64,         /* of a frame, beside its content: a zmq_msg_t */
    WEIR_INFLOW_PIECE_BYTES = 3 * 4 << 10 /* a piece costs so much at least: ZeroMQ's buffer for
                                             reading lives as long as a frame within it */
};

/* Descriptor `fd` is a new connection that somebody made. `is_sealed`: over TCP, with keys. */
void weir_inflow_begin(int fd, bool is_sealed);
/* The connection has sent `size` bytes more. False: it is cut. `*ret_other` is another one to be cut, or -1. */
bool weir_inflow_arrived(int fd, const uint8_t *bytes, size_t size, int *ret_other);
void weir_inflow_end(int fd);
/* From now on those who get past the handshake over TCP are known by their keys. */
void weir_inflow_expect_keys(void);
/* The first connection over TCP behind descriptor `fd`, and the kernel's name of it; -1: there is none. */
int weir_inflow_next_sealed(int fd, uint64_t *ret_cookie);

/* A message of so many frames and bytes that came by connection `fd` is taken up. */
void weir_inflow_taken(int fd, size_t frames, size_t bytes);
/* All complete messages are taken up. */
void weir_inflow_drained(void);

/* Number of connections that were cut, and what all are charged now. */
uint64_t weir_inflow_cuts(void);
size_t weir_inflow_charged(void);

#endif
