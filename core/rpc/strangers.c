/* Counting the handshakes that failed, as ZeroMQ tells of them. */
#include "core/rpc/strangers.h"

#include "core/base/log.h"
#include "core/base/memory.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <zmq.h>

enum {
    LOG_MS = 60 * 1000,
    NAME_BYTES = 64,
    FAILED = ZMQ_EVENT_HANDSHAKE_FAILED_NO_DETAIL | ZMQ_EVENT_HANDSHAKE_FAILED_PROTOCOL |
             ZMQ_EVENT_HANDSHAKE_FAILED_AUTH,
};

struct weir_strangers {
    struct weir_loop *loop;
    void *socket, *events;
    const char *endpoint;
    uint64_t count, logged;
    int64_t log_ms; /* no line of the log before */
};

static void report(struct weir_strangers *strangers)
{
    int64_t now_ms = weir_loop_now_ms(strangers->loop);
    if (strangers->count == strangers->logged || now_ms < strangers->log_ms)
        return;
    weir_log(WEIR_LOG_WARN, "somebody without the key connects", "endpoint=%s times=%llu",
             strangers->endpoint, (unsigned long long)(strangers->count - strangers->logged));
    strangers->logged = strangers->count;
    strangers->log_ms = now_ms + LOG_MS;
}

/* Of each event come two frames: what it is, and where. */
static void on_event(void *owner)
{
    struct weir_strangers *strangers = owner;
    zmq_msg_t frame;
    zmq_msg_init(&frame);
    while (zmq_msg_recv(&frame, strangers->events, ZMQ_DONTWAIT) >= 0)
        strangers->count += zmq_msg_more(&frame) != 0;
    zmq_msg_close(&frame);
    report(strangers);
}

static bool follow(struct weir_strangers *strangers)
{
    char name[NAME_BYTES];
    int any_number = 0; /* of events that wait: ZeroMQ's thread must not wait for us */
    (void)snprintf(name, sizeof(name), "inproc://strangers-%p", (void *)strangers);
    return strangers->events != NULL && zmq_socket_monitor(strangers->socket, name, FAILED) == 0 &&
           zmq_setsockopt(strangers->events, ZMQ_RCVHWM, &any_number, sizeof(any_number)) == 0 &&
           zmq_connect(strangers->events, name) == 0;
}

enum weir_status weir_strangers_watch(struct weir_loop *loop, void *socket, const char *endpoint,
                                      struct weir_strangers **ret_strangers, struct weir_error *err)
{
    struct weir_strangers *strangers = weir_calloc(1, sizeof(*strangers));
    *strangers = (struct weir_strangers){
        .loop = loop,
        .socket = socket,
        .events = zmq_socket(weir_loop_zmq(loop), ZMQ_PAIR),
        .endpoint = endpoint,
    };
    if (!follow(strangers)) {
        int code = errno;
        weir_strangers_free(strangers);
        return weir_fail(err, WEIR_LIMIT, "cannot watch %s for strangers: %s", endpoint,
                         zmq_strerror(code));
    }
    weir_loop_watch_socket(loop, strangers->events, on_event, strangers);
    *ret_strangers = strangers;
    return WEIR_OK;
}

void weir_strangers_free(struct weir_strangers *strangers)
{
    if (strangers == NULL)
        return;
    (void)zmq_socket_monitor(strangers->socket, NULL, 0); /* ends it */
    if (strangers->events != NULL) {
        weir_loop_unwatch_socket(strangers->loop, strangers->events);
        zmq_close(strangers->events);
    }
    free(strangers);
}

uint64_t weir_strangers_count(const struct weir_strangers *strangers)
{
    return strangers != NULL ? strangers->count : 0;
}
