/* One message as the frames ZeroMQ carries: [route] envelope, msgpack header, payload frames. Reads
 * and writes them in one piece; knows nothing of requests. For core/rpc alone. */
#ifndef WEIR_RPC_PARTS_H
#define WEIR_RPC_PARTS_H

#include "core/rpc/envelope.h"
#include "core/rpc/frames.h"
#include "core/rpc/outflow.h"
#include "core/rpc/pair.h"
#include "core/rpc/rpc.h"

/* A received message; reused from one to the next. */
struct weir_parts {
    struct weir_route route; /* identity, request and trace of the sender */
    struct weir_envelope envelope;
    zmq_msg_t header;
    struct weir_frames frames;
    size_t bytes_max; /* of all frames together; set by the owner */
    size_t bytes;
    size_t frame_count;                   /* of the whole message */
    int64_t since_ms;                     /* it came after; set by the owner */
    bool is_keyed;                        /* those who send have keys; set by the owner */
    int connection;                       /* descriptor that it came by; -1: within the process */
    char public[WEIR_KEY_CHARACTERS + 1]; /* key that its sender proved to have; "": none */
    struct weir_error err;                /* what makes it malformed */
};

enum weir_received {
    WEIR_RECEIVED_NOTHING,
    WEIR_RECEIVED_MESSAGE,
    WEIR_RECEIVED_MALFORMED, /* parts->route.request is 0 unless it could be read; parts->err says
                                why */
};

void weir_parts_init(struct weir_parts *parts, size_t bytes_max);
void weir_parts_fini(struct weir_parts *parts);

/* Takes one message without waiting. `routed`: the socket is a ROUTER. */
enum weir_received weir_parts_receive(void *socket, bool routed, struct weir_parts *parts);
struct weir_bytes weir_parts_header(struct weir_parts *parts);

/* A message to be sent; all is borrowed. */
struct weir_parcel {
    const struct weir_route *route; /* NULL on a DEALER */
    const struct weir_envelope *envelope;
    struct weir_bytes header;
    struct weir_frames *frames;   /* NULL: none */
    struct weir_outflow *outflow; /* count of its bytes; NULL: they are not counted */
};
/* Sends without waiting. False when it cannot leave now: the frames are kept then, and consumed otherwise. */
bool weir_parts_send(void *socket, const struct weir_parcel *parcel) WEIR_MUST_USE;

#endif
