/* The ZAP handler. */
#include "core/rpc/gate.h"

#include "core/base/memory.h"
#include "core/rpc/keys.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <zmq.h>

enum {
    BUDGET = 64, /* handshakes a round */
    FRAME_BYTES = 256,
    KEY_BYTES = 32,
    VERSION = 0,
    REQUEST,
    DOMAIN,
    ADDRESS,
    IDENTITY,
    MECHANISM,
    CREDENTIALS,
    FRAMES,
};

struct weir_gate {
    struct weir_loop *loop;
    void *socket;
    const struct weir_keyring *keyring;
    weir_gate_denied_fn *denied;
    void *owner;
};

/* A request of ZeroMQ (ZAP, https://rfc.zeromq.org/spec/27). */
struct zap_request {
    struct frame {
        char text[FRAME_BYTES]; /* terminated */
        size_t size;
    } frame[FRAMES];
    size_t count;
    bool is_whole; /* no frame is longer, and there are no more */
};

struct verdict {
    const char *status, *text, *user;
};
static const struct verdict DENIED = {"400", "unknown key", ""}, AS_BEFORE = {"200", "", ""},
                            BROKEN = {"500", "no request", ""};

static bool receive(void *socket, struct zap_request *ret_request)
{
    bool more = true;
    *ret_request = (struct zap_request){.is_whole = true};
    for (size_t i = 0; more; i++) {
        char spare[1];
        bool is_kept = i < FRAMES;
        struct frame *frame = is_kept ? &ret_request->frame[i] : NULL;
        int got = zmq_recv(socket, is_kept ? frame->text : spare,
                           is_kept ? FRAME_BYTES - 1 : sizeof(spare), ZMQ_DONTWAIT);
        size_t size = sizeof(int);
        int is_more = 0;
        if (got < 0)
            return false;
        if (is_kept)
            frame->size = (size_t)got < FRAME_BYTES - 1 ? (size_t)got : FRAME_BYTES - 1;
        ret_request->is_whole &= is_kept && got < FRAME_BYTES;
        ret_request->count = i + 1;
        (void)zmq_getsockopt(socket, ZMQ_RCVMORE, &is_more, &size);
        more = is_more != 0;
    }
    return true;
}

static bool says(const struct zap_request *request, size_t frame, const char *text)
{
    return strcmp(request->frame[frame].text, text) == 0;
}

/* Sockets that were bound without a pair let in whoever knows their key. */
static struct verdict judge(const struct weir_gate *gate, const struct zap_request *request,
                            char public[WEIR_KEY_CHARACTERS + 1])
{
    if (!request->is_whole || request->count != FRAMES || !says(request, VERSION, "1.0") ||
        !says(request, MECHANISM, "CURVE") || request->frame[CREDENTIALS].size != KEY_BYTES)
        return BROKEN;
    if (request->frame[DOMAIN].size == 0)
        return AS_BEFORE;
    (void)zmq_z85_encode(public, (const uint8_t *)request->frame[CREDENTIALS].text, KEY_BYTES);
    if (!says(request, DOMAIN, WEIR_KEYS_DOMAIN) ||
        weir_keyring_find(gate->keyring, public) == NULL)
        return DENIED;
    return (struct verdict){"200", "", public};
}

static void send_text(void *socket, const char *text, size_t size, int more)
{
    (void)zmq_send(socket, text, size, ZMQ_DONTWAIT | more); /* whoever asked may be gone */
}

static void answer(const struct weir_gate *gate, const struct zap_request *request,
                   const struct verdict *verdict)
{
    const struct frame *id = &request->frame[REQUEST];
    send_text(gate->socket, "1.0", strlen("1.0"), ZMQ_SNDMORE);
    send_text(gate->socket, id->text, id->size, ZMQ_SNDMORE);
    send_text(gate->socket, verdict->status, strlen(verdict->status), ZMQ_SNDMORE);
    send_text(gate->socket, verdict->text, strlen(verdict->text), ZMQ_SNDMORE);
    send_text(gate->socket, verdict->user, strlen(verdict->user), ZMQ_SNDMORE);
    send_text(gate->socket, "", 0, 0);
}

static void on_requests(void *owner)
{
    struct weir_gate *gate = owner;
    struct zap_request request;
    for (int i = 0; i < BUDGET && receive(gate->socket, &request); i++) {
        char public[WEIR_KEY_CHARACTERS + 1] = "";
        struct verdict verdict = judge(gate, &request, public);
        answer(gate, &request, &verdict);
        if (strcmp(verdict.status, DENIED.status) == 0)
            gate->denied(gate->owner, public, request.frame[ADDRESS].text);
    }
}

enum weir_status weir_gate_open(struct weir_loop *loop, const struct weir_keyring *keyring,
                                weir_gate_denied_fn *denied, void *owner,
                                struct weir_gate **ret_gate, struct weir_error *err)
{
    static const int NO_LINGER = 0;
    void *socket = zmq_socket(weir_loop_zmq(loop), ZMQ_REP);
    if (socket == NULL)
        return weir_fail(err, WEIR_LIMIT, "cannot open a socket: %s", zmq_strerror(errno));
    if (zmq_setsockopt(socket, ZMQ_LINGER, &NO_LINGER, sizeof(NO_LINGER)) != 0 ||
        zmq_bind(socket, "inproc://zeromq.zap.01") != 0) {
        int code = errno;
        zmq_close(socket);
        return weir_fail(err, WEIR_EXISTS, "cannot decide handshakes: %s", zmq_strerror(code));
    }
    struct weir_gate *gate = weir_calloc(1, sizeof(*gate));
    *gate = (struct weir_gate){
        .loop = loop, .socket = socket, .keyring = keyring, .denied = denied, .owner = owner};
    *ret_gate = gate;
    return WEIR_OK;
}

void weir_gate_begin(struct weir_gate *gate)
{
    weir_loop_watch_socket(gate->loop, gate->socket, on_requests, gate);
}

void weir_gate_close(struct weir_gate *gate)
{
    if (gate == NULL)
        return;
    weir_loop_unwatch_socket(gate->loop, gate->socket);
    zmq_close(gate->socket);
    free(gate);
}
