/* Hearing of handshakes that failed. */
#include "core/rpc/handshakes.h"

#include "core/base/bytes.h"
#include "core/base/memory.h"
#include "core/base/rng.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <zmq.h>

enum {
    NAME_BYTES = 64,
    EVENT_BYTES = 6, /* u16 event, u32 value */
    JUDGED = ZMQ_EVENT_HANDSHAKE_FAILED_NO_DETAIL | ZMQ_EVENT_HANDSHAKE_FAILED_AUTH,
    ALL = JUDGED | ZMQ_EVENT_HANDSHAKE_FAILED_PROTOCOL,
    STEPS = ZMQ_EVENT_HANDSHAKE_SUCCEEDED | ZMQ_EVENT_DISCONNECTED | ZMQ_EVENT_CONNECT_RETRIED,
};

struct weir_handshakes {
    struct weir_loop *loop;
    void *socket, *events;
    struct weir_handshakes_listener listener;
};

static enum weir_handshakes_step step_of(uint16_t event)
{
    if (event == ZMQ_EVENT_CONNECT_RETRIED)
        return WEIR_HANDSHAKES_AGAIN;
    return event == ZMQ_EVENT_DISCONNECTED ? WEIR_HANDSHAKES_OVER : WEIR_HANDSHAKES_THROUGH;
}

static void tell(const struct weir_handshakes_listener *listener, uint16_t event, uint32_t value)
{
    if ((event & STEPS) != 0)
        listener->stepped(listener->owner, step_of(event));
    else
        listener->fn(listener->owner, event == ZMQ_EVENT_HANDSHAKE_FAILED_AUTH ? value : 0);
}

/* Of each event come two frames: what it is, and where. */
void weir_handshakes_take(void *owner)
{
    struct weir_handshakes *handshakes = owner;
    zmq_msg_t frame;
    zmq_msg_init(&frame);
    while (zmq_msg_recv(&frame, handshakes->events, ZMQ_DONTWAIT) >= 0) {
        uint32_t value = 0;
        uint16_t event = 0;
        if (!zmq_msg_more(&frame) || zmq_msg_size(&frame) != EVENT_BYTES)
            continue;
        memcpy(&event, zmq_msg_data(&frame), sizeof(event));
        memcpy(&value, (const uint8_t *)zmq_msg_data(&frame) + sizeof(event), sizeof(value));
        tell(&handshakes->listener, event, value);
    }
    zmq_msg_close(&frame);
}

static bool follow(struct weir_handshakes *handshakes)
{
    char name[NAME_BYTES];
    int events = (handshakes->listener.told == WEIR_HANDSHAKES_ALL ? ALL : JUDGED) |
                 (handshakes->listener.stepped != NULL ? STEPS : 0);
    int any_number = 0; /* of events that wait: ZeroMQ's thread must not wait for us */
    (void)snprintf(name, sizeof(name), "inproc://handshakes-%016llx",
                   (unsigned long long)weir_random_u64()); /* one that has ended stays a moment */
    return handshakes->events != NULL &&
           zmq_socket_monitor(handshakes->socket, name, events) == 0 &&
           zmq_setsockopt(handshakes->events, ZMQ_RCVHWM, &any_number, sizeof(any_number)) == 0 &&
           zmq_connect(handshakes->events, name) == 0;
}

enum weir_status weir_handshakes_watch(struct weir_loop *loop, void *socket,
                                       const struct weir_handshakes_listener *listener,
                                       struct weir_handshakes **ret_handshakes,
                                       struct weir_error *err)
{
    struct weir_handshakes *handshakes = weir_calloc(1, sizeof(*handshakes));
    *handshakes = (struct weir_handshakes){
        .loop = loop,
        .socket = socket,
        .events = zmq_socket(weir_loop_zmq(loop), ZMQ_PAIR),
        .listener = *listener,
    };
    if (!follow(handshakes)) {
        int code = errno;
        weir_handshakes_free(handshakes);
        return weir_fail(err, WEIR_LIMIT, "cannot watch handshakes: %s", zmq_strerror(code));
    }
    weir_loop_watch_socket(loop, handshakes->events, weir_handshakes_take, handshakes);
    *ret_handshakes = handshakes;
    return WEIR_OK;
}

void weir_handshakes_free(struct weir_handshakes *handshakes)
{
    if (handshakes == NULL)
        return;
    (void)zmq_socket_monitor(handshakes->socket, NULL, 0); /* ends it */
    if (handshakes->events != NULL) {
        weir_loop_unwatch_socket(handshakes->loop, handshakes->events);
        zmq_close(handshakes->events);
    }
    free(handshakes);
}

void *weir_handshakes_socket(const struct weir_handshakes *handshakes)
{
    return handshakes->events;
}
