/* The asking side: a connected DEALER, its open calls, and the one timer that sends them again and
 * gives them up. */
#include "core/rpc/rpc.h"

#include "core/base/memory.h"
#include "core/base/rng.h"
#include "core/rpc/calls.h"
#include "core/rpc/handshakes.h"
#include "core/rpc/keys.h"
#include "core/rpc/knocking.h"
#include "core/rpc/parts.h"
#include "core/rpc/socket.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

enum {
    DRAIN_BUDGET = 64,
    WAIT_MAX_MS = 1000,
    KNOCKS = 3, /* in vain, then calls end: new keys are not known everywhere at once */
};

struct weir_rpc_peer {
    struct weir_loop *loop;
    void *socket;
    char *address;
    char *endpoint;                          /* of it */
    struct weir_pair pair;                   /* of who comes from elsewhere */
    bool is_keyed;                           /* … whoever that is */
    struct weir_handshakes *handshakes;      /* of those; NULL: nobody looks */
    bool is_reached;                         /* … and the server is there */
    uint64_t outage;                         /* grows whenever it is no longer there */
    unsigned knocks;                         /* in a row that the key was turned away */
    unsigned breaks;                         /* in a row of the connection */
    int64_t knock_ms;                        /* next one; INT64_MAX: there is none */
    bool is_denied;                          /* its calls are to end */
    const struct weir_rpc_handler *handlers; /* of one-way messages; may be NULL */
    void *owner;
    struct weir_arena *arena; /* of the message at hand */
    struct weir_parts parts;
    struct weir_buf header; /* of the one-way message going out */
    struct weir_calls calls;
    uint64_t last_request;
    uint64_t trace; /* mixed with the request number */
    uint64_t timer;
    int64_t timer_ms; /* when it is set to fire; INT64_MAX: not set */
    int depth;        /* > 0 while callbacks of this peer run */
    bool closed;      /* by a callback: freed when the last has returned */
};

static void disconnect(struct weir_rpc_peer *peer)
{
    weir_handshakes_free(peer->handshakes);
    peer->handshakes = NULL;
    weir_loop_unwatch_socket(peer->loop, peer->socket);
    weir_socket_close(peer->socket, NULL);
}

static void free_peer(struct weir_rpc_peer *peer)
{
    weir_loop_cancel(peer->loop, peer->timer);
    disconnect(peer);
    weir_calls_fini(&peer->calls);
    weir_parts_fini(&peer->parts);
    weir_buf_fini(&peer->header);
    weir_arena_free(peer->arena);
    weir_pair_fini(&peer->pair);
    free(peer->address);
    free(peer->endpoint);
    free(peer);
}

static void enter(struct weir_rpc_peer *peer)
{
    peer->depth++;
}

static void leave(struct weir_rpc_peer *peer)
{
    peer->depth--;
    if (peer->depth == 0 && peer->closed)
        free_peer(peer);
}

/* ---- calls going out, again and again ---- */

static void tick(void *owner);

static void set_timer(struct weir_rpc_peer *peer, int64_t at_ms)
{
    if (at_ms >= peer->timer_ms)
        return;
    weir_loop_cancel(peer->loop, peer->timer);
    int64_t now = weir_loop_clock_ms(peer->loop);
    peer->timer = weir_loop_timer(peer->loop, at_ms > now ? at_ms - now : 0, 0, tick, peer);
    peer->timer_ms = at_ms;
}

/* True while a copy of the call waits for a server that is away: of many more, one for each moment that it is asked
 * again, a server that comes back to thousands of peers could not take up the first for a long time. */
static bool is_waiting(const struct weir_rpc_peer *peer, const struct weir_call *call)
{
    return peer->handshakes != NULL && !peer->is_reached && call->outage == peer->outage;
}

/* Returns how seldom a call is sent again at last. A server on this host may have been killed without a sign: it is
 * asked twice a second. Under keys there is a sign, and thousands may wait for a server that stands, but is slow. */
static int64_t resend_max_ms(const struct weir_rpc_peer *peer, const struct weir_call *call)
{
    if (call->frames.count > 0)
        return WEIR_RPC_FRAMED_RESEND_MAX_MS;
    return peer->handshakes != NULL ? WEIR_RPC_RESEND_MAX_MS : WEIR_RPC_RESEND_MS;
}

static void send_call(struct weir_rpc_peer *peer, struct weir_call *call, int64_t now_ms)
{
    int64_t left = call->deadline_ms - now_ms;
    struct weir_envelope envelope = {
        .type = (uint16_t)call->type,
        .deadline_ms = left < UINT32_MAX ? (uint32_t)left : UINT32_MAX,
        .request = call->request,
        .trace = weir_mix64(peer->trace ^ call->request),
    };
    struct weir_frames frames = {.count = 0};
    call->send_ms = now_ms + call->resend_ms;
    if (is_waiting(peer, call))
        return;
    call->outage = peer->outage;
    weir_frames_share(&frames, &call->frames);
    /* A full queue is like a lost message: the call is sent again. */
    const struct weir_parcel parcel = {
        .envelope = &envelope, .header = weir_buf_view(&call->header), .frames = &frames};
    if (!weir_parts_send(peer->socket, &parcel))
        weir_frames_clear(&frames);
    weir_loop_socket_used(peer->loop, peer->socket);
    if (call->resend_ms < resend_max_ms(peer, call))
        call->resend_ms *= 2;
}

/* Ends the call: it is out of the list before its owner hears of it, who may ask again at once. */
static void finish(struct weir_rpc_peer *peer, struct weir_call *call,
                   const struct weir_reply *reply, const struct weir_error *err)
{
    weir_calls_take(&peer->calls, call->request);
    call->done(call->owner, reply, err);
    weir_call_free(call);
}

static void give_up(struct weir_rpc_peer *peer, struct weir_call *call)
{
    struct weir_error err;
    const char *name = weir_message_info(call->type)->name;
    long long waited = call->deadline_ms - call->begun_ms;
    if (call->over_limit)
        weir_fail(&err, WEIR_LIMIT, "%s: %d calls to %s are open already", name, WEIR_RPC_CALLS_MAX,
                  peer->endpoint);
    else if (call->refusal != NULL)
        weir_fail(&err, WEIR_TIMEOUT, "%s: %s could not answer within %lld ms: %s", name,
                  peer->endpoint, waited, call->refusal);
    else
        weir_fail(&err, WEIR_TIMEOUT, "%s: no answer from %s within %lld ms", name, peer->endpoint,
                  waited);
    finish(peer, call, NULL, &err);
}

static void renew(struct weir_rpc_peer *peer);

static void fail_calls(struct weir_rpc_peer *peer)
{
    struct weir_error err;
    peer->is_denied = false;
    weir_fail(&err, WEIR_DENIED,
              "%s does not let this key in: it was revoked, or is not allowed yet (`weir keys "
              "list`, `weir keys allow`)",
              peer->endpoint);
    for (size_t left = peer->calls.count; left > 0 && peer->calls.count > 0 && !peer->closed;
         left--)
        finish(peer, peer->calls.at[0], NULL, &err);
}

/* Soonest of what there is to do by itself. */
static int64_t next_ms(const struct weir_rpc_peer *peer)
{
    int64_t call_ms = weir_calls_next_ms(&peer->calls);
    return peer->knock_ms < call_ms ? peer->knock_ms : call_ms;
}

static void run_due(struct weir_rpc_peer *peer)
{
    int64_t now = weir_loop_clock_ms(peer->loop);
    if (peer->is_denied)
        fail_calls(peer);
    if (peer->knock_ms <= now && peer->handshakes != NULL)
        weir_handshakes_take(peer->handshakes); /* a loop that was busy has not heard all yet */
    if (peer->knock_ms <= now)
        renew(peer);
    struct weir_call *call;
    while (!peer->closed && (call = weir_calls_expired(&peer->calls, now)) != NULL)
        give_up(peer, call);
    for (size_t i = 0; i < peer->calls.count && !peer->closed; i++) {
        if (peer->calls.at[i]->send_ms <= now)
            send_call(peer, peer->calls.at[i], now);
    }
    if (!peer->closed)
        set_timer(peer, next_ms(peer));
}

static void tick(void *owner)
{
    struct weir_rpc_peer *peer = owner;
    peer->timer = 0;
    peer->timer_ms = INT64_MAX;
    enter(peer);
    run_due(peer);
    leave(peer);
}

static struct weir_call *start_call(struct weir_rpc_peer *peer,
                                    const struct weir_framed_call *asked)
{
    int64_t now = weir_loop_clock_ms(peer->loop);
    bool over_limit = peer->calls.count >= WEIR_RPC_CALLS_MAX;
    struct weir_call *call = weir_calls_add(&peer->calls, ++peer->last_request);
    call->type = asked->type;
    call->done = asked->done;
    call->owner = asked->owner;
    call->begun_ms = now;
    call->deadline_ms = now + (asked->deadline_ms > 0 ? asked->deadline_ms : 0);
    call->over_limit = over_limit;
    call->resend_ms = asked->frames != NULL ? WEIR_RPC_FRAMED_RESEND_MS : WEIR_RPC_RESEND_MS;
    call->refused_ms = WEIR_RPC_REFUSED_MS;
    if (asked->frames != NULL)
        weir_frames_move(&call->frames, asked->frames);
    if (!over_limit) {
        weir_message_pack(asked->type, asked->message, &call->header);
        send_call(peer, call, now);
    }
    return call;
}

void weir_rpc_call_framed(struct weir_rpc_peer *peer, const struct weir_framed_call *asked)
{
    const struct weir_call *call = start_call(peer, asked);
    set_timer(peer, call->over_limit ? 0 : call->send_ms);
    set_timer(peer, call->deadline_ms);
}

void weir_rpc_call(struct weir_rpc_peer *peer, enum weir_message type, const void *message,
                   int64_t deadline_ms, weir_rpc_done_fn *done, void *owner)
{
    weir_rpc_call_framed(peer, &(struct weir_framed_call){.type = type,
                                                          .message = message,
                                                          .deadline_ms = deadline_ms,
                                                          .done = done,
                                                          .owner = owner});
}

void weir_rpc_forget(struct weir_rpc_peer *peer, const void *owner)
{
    weir_calls_forget(&peer->calls, owner);
}

void weir_rpc_send(struct weir_rpc_peer *peer, enum weir_message type, const void *message)
{
    struct weir_envelope envelope = {.type = (uint16_t)type, .trace = peer->trace};
    weir_message_pack(type, message, &peer->header);
    const struct weir_parcel parcel = {.envelope = &envelope,
                                       .header = weir_buf_view(&peer->header)};
    bool sent = weir_parts_send(peer->socket, &parcel);
    weir_loop_socket_used(peer->loop, peer->socket);
    weir_buf_wipe(&peer->header);
    (void)sent; /* one-way messages may be lost: they carry full state and are repeated */
}

/* ---- what comes back ---- */

/* Sends a call again before its time: who refused it is there, and may soon be able to answer. Frames are too large to
 * be sent on the chance of that. */
static void hurry(struct weir_rpc_peer *peer, struct weir_call *call)
{
    int64_t again_ms = weir_loop_clock_ms(peer->loop) + call->refused_ms;

    if (call->frames.count > 0 || again_ms >= call->send_ms)
        return;
    call->send_ms = again_ms;
    call->refused_ms *= 2;
    set_timer(peer, again_ms);
}

static void take_refusal(struct weir_rpc_peer *peer, struct weir_call *call,
                         const struct msg_error *refusal)
{
    if (refusal->status == WEIR_UNAVAILABLE) {
        free(call->refusal);
        call->refusal = weir_strdup(refusal->text);
        hurry(peer, call);
        return;
    }
    struct weir_error err;
    bool is_refused = refusal->status != WEIR_OK && weir_status_is_known(refusal->status);
    weir_fail(&err, is_refused ? (enum weir_status)refusal->status : WEIR_INTERNAL, "%s",
              refusal->text);
    finish(peer, call, NULL, &err);
}

static void take_answer(struct weir_rpc_peer *peer, struct weir_call *call)
{
    struct weir_error err = {0};
    enum weir_message type = (enum weir_message)peer->parts.envelope.type;
    const struct weir_message_info *info = weir_message_info(type);
    struct weir_arena *arena = call->arena != NULL && type != MSG_error ? call->arena : peer->arena;
    if (info == NULL || !weir_message_answers(type, call->type)) {
        weir_fail(&err, WEIR_UNSUPPORTED,
                  "%s answered %s with %s (0x%04x), which is no answer to it", peer->endpoint,
                  weir_message_info(call->type)->name,
                  info != NULL ? info->name : "an unknown message", (unsigned)type);
        finish(peer, call, NULL, &err);
        return;
    }
    void *message = weir_arena_alloc(arena, info->size);
    enum weir_status status =
        weir_message_unpack(type, weir_parts_header(&peer->parts), arena, message, &err);
    if (status != WEIR_OK) {
        weir_error_wrap(&err, status, "answer of %s", peer->endpoint);
        finish(peer, call, NULL, &err);
    } else if (type == MSG_error) {
        take_refusal(peer, call, message);
    } else {
        finish(peer, call,
               &(struct weir_reply){
                   .type = type, .message = message, .frames = &peer->parts.frames, .arena = arena},
               NULL);
    }
}

static void take_one_way(struct weir_rpc_peer *peer)
{
    enum weir_message type = (enum weir_message)peer->parts.envelope.type;
    const struct weir_rpc_handler *handler = peer->handlers;
    while (handler != NULL && handler->type != MSG_none && handler->type != type)
        handler++;
    if (handler == NULL || handler->type == MSG_none)
        return;
    const struct weir_message_info *info = weir_message_info(type);
    void *message = weir_arena_alloc(peer->arena, info->size);
    if (weir_message_unpack(type, weir_parts_header(&peer->parts), peer->arena, message, NULL) !=
        WEIR_OK)
        return;
    struct weir_request request = {.type = type,
                                   .message = message,
                                   .frames = &peer->parts.frames,
                                   .arena = peer->arena,
                                   .route = peer->parts.route};
    handler->fn(peer->owner, &request);
}

static void take_message(struct weir_rpc_peer *peer)
{
    peer->knocks = peer->breaks = 0;
    if (peer->parts.envelope.request == 0) {
        take_one_way(peer);
        return;
    }
    /* The second answer to a request sent twice finds no call. */
    struct weir_call *call = weir_calls_find(&peer->calls, peer->parts.envelope.request);
    if (call != NULL)
        take_answer(peer, call);
}

static void take_messages(struct weir_rpc_peer *peer)
{
    for (int i = 0; i < DRAIN_BUDGET && !peer->closed; i++) {
        enum weir_received received = weir_parts_receive(peer->socket, false, &peer->parts);
        if (received == WEIR_RECEIVED_NOTHING)
            break;
        if (received == WEIR_RECEIVED_MESSAGE)
            take_message(peer);
        weir_arena_clear(peer->arena);
    }
}

static void drain(void *owner)
{
    struct weir_rpc_peer *peer = owner;
    enter(peer);
    take_messages(peer);
    leave(peer);
}

/* ---- life ---- */

/* ZeroMQ does not connect again when it was told in so many words. */
static void on_failed_handshake(void *owner, uint32_t value)
{
    struct weir_rpc_peer *peer = owner;
    if (value != WEIR_HANDSHAKE_DENIED)
        return;
    peer->knock_ms =
        weir_loop_clock_ms(peer->loop) + weir_knock_pause_ms(peer->knocks++, weir_random_u64());
    peer->is_denied = peer->knocks >= KNOCKS;
    set_timer(peer, peer->is_denied ? 0 : peer->knock_ms); /* calls end outside of this */
}

/* Requests that were sent and not answered may be lost with the connection: each is sent once more, unless it was while
 * the server was away. */
static void on_reached(struct weir_rpc_peer *peer, bool is_reached)
{
    int64_t now_ms = weir_loop_clock_ms(peer->loop);
    peer->is_reached = is_reached;
    peer->outage += !is_reached;
    for (size_t i = 0; is_reached && i < peer->calls.count; i++) {
        struct weir_call *call = peer->calls.at[i];
        if (call->outage == peer->outage || call->frames.count > 0)
            continue;
        call->resend_ms = WEIR_RPC_RESEND_MS;
        call->send_ms = now_ms;
        set_timer(peer, now_ms);
    }
}

/* ZeroMQ connects again by itself, which it tells at once; but not where somebody has changed what a server said. */
static void on_over(struct weir_rpc_peer *peer)
{
    on_reached(peer, false);
    if (peer->knock_ms != INT64_MAX)
        return;
    peer->knock_ms =
        weir_loop_clock_ms(peer->loop) + weir_knock_pause_ms(peer->breaks++, weir_random_u64());
    set_timer(peer, peer->knock_ms);
}

static void on_step(void *owner, enum weir_handshakes_step step)
{
    struct weir_rpc_peer *peer = owner;
    switch (step) {
    case WEIR_HANDSHAKES_THROUGH:
        on_reached(peer, true);
        break;
    case WEIR_HANDSHAKES_OVER:
        on_over(peer);
        break;
    case WEIR_HANDSHAKES_AGAIN:
        peer->knock_ms = INT64_MAX;
        break;
    }
}

static struct weir_socket_plan plan_of(const struct weir_rpc_peer *peer)
{
    return (struct weir_socket_plan){WEIR_SOCKET_PEER, peer->address,
                                     peer->is_keyed ? &peer->pair : NULL};
}

/* Before it is connected: the key may be turned away at once. */
static void watch(struct weir_rpc_peer *peer)
{
    const struct weir_handshakes_listener listener = {WEIR_HANDSHAKES_JUDGED, on_failed_handshake,
                                                      peer, on_step};
    on_reached(peer, false);
    /* Without it calls end when their time is up, and nobody is told why. */
    if (peer->is_keyed)
        weir_ignore(
            weir_handshakes_watch(peer->loop, peer->socket, &listener, &peer->handshakes, NULL));
    weir_loop_watch_socket(peer->loop, peer->socket, drain, peer);
}

enum weir_status weir_rpc_connect_under(const struct weir_rpc_connection *to)
{
    const struct weir_socket_plan plan = {WEIR_SOCKET_PEER, to->address, to->pair};
    void *socket = NULL;
    enum weir_status status = weir_socket_new(to->loop, &plan, &socket, to->err);
    if (status != WEIR_OK)
        return status;
    struct weir_rpc_peer *peer = weir_calloc(1, sizeof(*peer));
    peer->loop = to->loop;
    peer->socket = socket;
    peer->address = weir_strdup(to->address);
    peer->endpoint = weir_keys_endpoint(to->address);
    peer->is_keyed = to->pair != NULL;
    if (to->pair != NULL)
        peer->pair = *to->pair;
    peer->handlers = to->handlers;
    peer->owner = to->owner;
    peer->arena = weir_arena_new();
    peer->trace = weir_random_u64();
    peer->timer_ms = peer->knock_ms = INT64_MAX;
    weir_parts_init(&peer->parts, weir_socket_bytes_max(&plan));
    watch(peer);
    status = weir_socket_begin(socket, &plan, to->err);
    if (status != WEIR_OK) {
        free_peer(peer);
        return status;
    }
    *to->ret_peer = peer;
    return WEIR_OK;
}

enum weir_status weir_rpc_connect(struct weir_loop *loop, const char *address,
                                  const struct weir_rpc_handler *handlers, void *owner,
                                  struct weir_rpc_peer **ret_peer, struct weir_error *err)
{
    return weir_rpc_connect_as(loop, address, NULL, handlers, owner, ret_peer, err);
}

const char *weir_rpc_peer_endpoint(const struct weir_rpc_peer *peer)
{
    return peer->endpoint;
}

void weir_rpc_peer_close(struct weir_rpc_peer *peer)
{
    if (peer == NULL)
        return;
    if (peer->depth > 0) {
        peer->closed = true;
        weir_calls_fini(&peer->calls);
        return;
    }
    free_peer(peer);
}

static void renew(struct weir_rpc_peer *peer)
{
    const struct weir_socket_plan plan = plan_of(peer);
    void *socket = NULL;
    peer->knock_ms = INT64_MAX;
    if (peer->closed || weir_socket_new(peer->loop, &plan, &socket, NULL) != WEIR_OK)
        return; /* no descriptor is left: what there is goes on */
    disconnect(peer);
    peer->socket = socket;
    watch(peer);
    weir_ignore(weir_socket_begin(socket, &plan, NULL)); /* as it was connected before */
    int64_t now = weir_loop_clock_ms(peer->loop);
    for (size_t i = 0; i < peer->calls.count; i++)
        peer->calls.at[i]->send_ms = now;
}

void weir_rpc_peer_renew(struct weir_rpc_peer *peer)
{
    renew(peer);
    if (!peer->closed && peer->calls.count > 0)
        set_timer(peer, weir_loop_clock_ms(peer->loop));
}

void weir_rpc_peer_linger(struct weir_rpc_peer *peer, int linger_ms)
{
    weir_socket_linger(peer->socket, linger_ms);
}

/* ---- asking without a loop ---- */

/* A call that waits. */
struct waiting {
    const struct weir_waiting_call *asked;
    const char *endpoint;
    enum weir_status status;
    bool answered;
};

static void on_answer(void *owner, const struct weir_reply *reply, const struct weir_error *err)
{
    struct waiting *waiting = owner;
    const struct weir_waiting_call *asked = waiting->asked;
    waiting->answered = true;
    if (reply == NULL) {
        waiting->status = err->status;
        if (asked->err != NULL)
            *asked->err = *err;
    } else if (reply->type != asked->expected) {
        waiting->status = weir_fail(asked->err, WEIR_INVALID, "%s answered with %s, expected %s",
                                    waiting->endpoint, weir_message_info(reply->type)->name,
                                    weir_message_info(asked->expected)->name);
    } else {
        size_t size = weir_message_info(reply->type)->size;
        if (size > 0) /* some messages are empty */
            memcpy(asked->ret_message, reply->message, size);
    }
}

static void wait_for_answer(struct weir_rpc_peer *peer)
{
    int64_t wait = next_ms(peer) - weir_loop_clock_ms(peer->loop);
    wait = wait < WAIT_MAX_MS ? wait : WAIT_MAX_MS;
    zmq_pollitem_t items[] = {{.socket = peer->socket, .events = ZMQ_POLLIN},
                              {.events = ZMQ_POLLIN}};
    int count = 1;
    if (peer->handshakes != NULL)
        items[count++].socket = weir_handshakes_socket(peer->handshakes);
    int ready = zmq_poll(items, count, wait > 0 ? (long)wait : 0);
    weir_require(ready >= 0 || errno == EINTR);
    if (items[0].revents != 0)
        take_messages(peer);
    if (items[1].revents != 0)
        weir_handshakes_take(peer->handshakes);
    for (int i = 0; i < count; i++)
        weir_loop_socket_used(peer->loop, items[i].socket);
    run_due(peer);
}

enum weir_status weir_rpc_request_waiting(const struct weir_waiting_call *asked)
{
    struct weir_rpc_peer *peer = asked->peer;
    weir_require(peer->depth == 0); /* it would answer other callbacks inside this one */
    struct waiting waiting = {.asked = asked, .endpoint = peer->endpoint};
    struct weir_call *call =
        start_call(peer, &(struct weir_framed_call){.type = asked->type,
                                                    .message = asked->message,
                                                    .deadline_ms = asked->deadline_ms,
                                                    .done = on_answer,
                                                    .owner = &waiting});
    call->arena = asked->arena;
    enter(peer);
    while (!waiting.answered && !peer->closed)
        wait_for_answer(peer);
    if (!waiting.answered)
        waiting.status =
            weir_fail(asked->err, WEIR_INTERNAL, "the peer was closed while it was asking");
    leave(peer);
    return waiting.status;
}
