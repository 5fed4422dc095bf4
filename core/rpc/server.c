/* The answering side: bound ROUTERs, a table of handlers, replies by route. */
#include "core/rpc/rpc.h"

#include "core/base/log.h"
#include "core/base/memory.h"
#include "core/base/quota.h"
#include "core/rpc/gate.h"
#include "core/rpc/guests.h"
#include "core/rpc/inflow.h"
#include "core/rpc/kept.h"
#include "core/rpc/listener.h"
#include "core/rpc/parts.h"

#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

enum {
    DRAIN_BUDGET = 64, /* messages per round, so that others get their turn */
    DRAIN_MS = 100,    /* … after which none is begun */
    LISTENERS_MAX = 3,
    CUTS_LOG_MS = 60 * 1000,
};

struct weir_rpc_server {
    struct weir_loop *loop;
    struct weir_listener *listeners[LISTENERS_MAX];
    size_t listener_count;
    const struct weir_rpc_handler *handlers;
    void *owner;
    struct weir_arena *arena; /* of the message at hand */
    struct weir_parts *parts; /* … */
    struct weir_parts own_parts;
    weir_rpc_meanwhile_fn *meanwhile; /* NULL: messages wait while a handler waits */
    struct weir_arena *meanwhile_arena;
    struct weir_kept_message *meanwhile_message; /* the next one's; NULL: not made yet */
    bool is_meanwhile;                           /* the message at hand came while one waits */
    struct weir_kept kept;
    uint64_t kept_timer; /* 0: none are kept */
    struct weir_keyring keyring;
    struct weir_guests guests;
    struct weir_gate *gate; /* NULL: no listener has keys */
    weir_refusal_fn *refused;
    void *refused_owner;
    struct weir_buf header; /* of the message going out */
    uint64_t turned_away;
    uint64_t cuts; /* of connections, as logged (inflow.h) */
    int64_t cuts_log_ms;
    bool draining;
    bool closed; /* by a handler: freed when the round is over */
};

bool weir_route_is_of_peer(const struct weir_route *route, const struct weir_route *other)
{
    return route->listener == other->listener && route->identity_size == other->identity_size &&
           memcmp(route->identity, other->identity, route->identity_size) == 0;
}

bool weir_route_is_of_request(const struct weir_route *route, const struct weir_route *other)
{
    return route->request == other->request && weir_route_is_of_peer(route, other);
}

static void free_server(struct weir_rpc_server *server)
{
    for (size_t i = 0; i < server->listener_count; i++)
        weir_listener_close(server->listeners[i]);
    weir_gate_close(server->gate);
    weir_guests_fini(&server->guests);
    weir_keyring_fini(&server->keyring);
    weir_loop_cancel(server->loop, server->kept_timer);
    weir_kept_fini(&server->kept);
    weir_kept_message_free(server->meanwhile_message);
    weir_parts_fini(&server->own_parts);
    weir_buf_fini(&server->header);
    weir_arena_free(server->meanwhile_arena);
    weir_arena_free(server->arena);
    free(server);
}

static const struct weir_rpc_handler *find_handler(const struct weir_rpc_handler *handler,
                                                   enum weir_message type)
{
    for (; handler->type != MSG_none; handler++) {
        if (handler->type == type)
            return handler;
    }
    return NULL;
}

/* The listener that a route leads back through. */
static struct weir_listener *listener_of(const struct weir_rpc_server *server,
                                         const struct weir_route *route)
{
    weir_require(route->listener < server->listener_count);
    return server->listeners[route->listener];
}

const struct weir_sender *weir_rpc_sender(const struct weir_request *request)
{
    return request->sender;
}

uint64_t weir_rpc_quota_key(const struct weir_request *request)
{
    return weir_quota_key(request->sender->name);
}

enum weir_role weir_rpc_role(const struct weir_request *request)
{
    return request->sender->role;
}

bool weir_rpc_user(const struct weir_request *request, uid_t *ret_user)
{
    struct ucred peer = {.pid = 0};
    socklen_t size = sizeof(peer);
    if (getsockopt(request->server->parts->connection, SOL_SOCKET, SO_PEERCRED, &peer, &size) !=
            0 ||
        peer.pid == 0)
        return false;
    *ret_user = peer.uid;
    return true;
}

/* A route under keys is that of one connection: whoever comes to its name later is somebody else. */
static bool may_be_told(const struct weir_rpc_server *server, const struct weir_listener *listener,
                        const struct weir_route *route)
{
    return !listener->is_keyed || weir_guests_may_be_told(&server->guests, &server->keyring,
                                                          route->connection, route->cookie);
}

static bool send_message(struct weir_rpc_server *server, const struct weir_route *route,
                         enum weir_message type, const void *message, struct weir_frames *frames)
{
    struct weir_envelope envelope = {
        .type = (uint16_t)type, .request = route->request, .trace = route->trace};
    struct weir_listener *listener = listener_of(server, route);
    if (!may_be_told(server, listener, route))
        return false;
    weir_message_pack(type, message, &server->header);
    const struct weir_parcel parcel = {
        .route = route,
        .envelope = &envelope,
        .header = weir_buf_view(&server->header),
        .frames = frames,
        .outflow = route->request != 0 ? &listener->outflow : NULL,
    };
    bool is_sent = weir_parts_send(listener->socket, &parcel);
    weir_loop_socket_used(server->loop, listener->socket);
    weir_buf_wipe(&server->header);
    return is_sent;
}

/* The peer asks again under the same number, at once; every other refusal is an answer. */
static bool is_asked_again(enum weir_message type, const void *message)
{
    return type == MSG_error && ((const struct msg_error *)message)->status == WEIR_UNAVAILABLE;
}

void weir_rpc_reply(struct weir_rpc_server *server, const struct weir_route *route,
                    enum weir_message type, const void *message, struct weir_frames *frames)
{
    struct weir_answered *answered = &listener_of(server, route)->answered;
    /* An asker that is gone, or reads nothing, loses the answer; it asks again if it still cares. */
    bool is_sent = route->request != 0 && send_message(server, route, type, message, frames);
    if (!is_sent && frames != NULL)
        weir_frames_clear(frames);
    if (is_asked_again(type, message))
        weir_answered_forget(answered, route);
    else if (is_sent)
        weir_answered_note(answered, route, weir_loop_clock_ms(server->loop));
}

void weir_rpc_refuse(struct weir_rpc_server *server, const struct weir_route *route,
                     const struct weir_error *err)
{
    struct msg_error refusal = {.status = (uint32_t)err->status, .text = err->text};
    weir_rpc_reply(server, route, MSG_error, &refusal, NULL);
}

void weir_rpc_answer(const struct weir_request *request, enum weir_status status,
                     enum weir_message type, const void *message, struct weir_frames *frames,
                     const struct weir_error *err)
{
    if (status == WEIR_OK) {
        weir_rpc_reply(request->server, &request->route, type, message, frames);
        return;
    }
    if (frames != NULL)
        weir_frames_clear(frames);
    weir_rpc_refuse(request->server, &request->route, err);
}

bool weir_rpc_push(struct weir_rpc_server *server, const struct weir_route *route,
                   enum weir_message type, const void *message, struct weir_frames *frames)
{
    struct weir_route one_way = *route;
    one_way.request = 0;
    return send_message(server, &one_way, type, message, frames);
}

static void turn_away(struct weir_rpc_server *server, const struct weir_error *err)
{
    const struct weir_route *route = &server->parts->route;
    server->turned_away++;
    weir_rpc_refuse(server, route, err);
    weir_answered_forget(&listener_of(server, route)->answered, route); /* it cost nothing */
}

static bool is_copy(const struct weir_listener *listener, const struct weir_parts *parts)
{
    return parts->route.request != 0 &&
           weir_answered_lately(&listener->answered, &parts->route, parts->since_ms,
                                weir_loop_clock_ms(listener->loop));
}

/* An audit keeps within bounds by itself, for each sender: who is refused often must not hide the others from it. */
static void note_refusal(struct weir_listener *listener, const struct weir_refusal *refusal)
{
    struct weir_rpc_server *server = listener->server;
    const struct weir_sender *sender = refusal->sender;
    if (server->refused != NULL)
        server->refused(server->refused_owner, refusal);
    if (weir_listener_may_report(listener))
        weir_log(WEIR_LOG_WARN, "a message is refused: its sender may not send it",
                 "message=%s role=%s name=%s key=%s at=%s", refusal->message,
                 sender != NULL ? weir_role_name(sender->role) : "none",
                 sender != NULL ? sender->name : "", refusal->public, refusal->where);
}

static const struct weir_sender *find_sender(const struct weir_listener *listener)
{
    const struct weir_rpc_server *server = listener->server;
    return listener->is_keyed ? weir_keyring_find(&server->keyring, server->parts->public)
                              : &listener->anybody;
}

/* The handler of a message that may be sent here. */
static enum weir_status choose_handler(struct weir_listener *listener,
                                       const struct weir_sender *sender, uint16_t type,
                                       const struct weir_rpc_handler **ret_handler,
                                       struct weir_error *err)
{
    const struct weir_message_info *info = weir_message_info(type);
    enum weir_status status =
        info != NULL ? weir_listener_admit(listener, sender, info, err) : WEIR_OK;
    if (status != WEIR_OK)
        note_refusal(listener, &(struct weir_refusal){.sender = sender,
                                                      .public = listener->server->parts->public,
                                                      .message = info->name,
                                                      .where = listener->endpoint});
    if (status != WEIR_OK)
        return status;
    *ret_handler = info != NULL ? find_handler(listener->server->handlers, info->type) : NULL;
    if (*ret_handler != NULL)
        return WEIR_OK;
    return weir_fail(err, WEIR_UNSUPPORTED, "message %s (0x%04x) is not served at %s",
                     info != NULL ? info->name : "unknown", type, listener->endpoint);
}

/* False: it came meanwhile, and has to wait. */
static bool handle(struct weir_listener *listener, const struct weir_sender *sender,
                   const struct weir_rpc_handler *handler, const void *message)
{
    struct weir_rpc_server *server = listener->server;
    struct weir_request request = {
        .server = server,
        .type = handler->type,
        .message = message,
        .frames = &server->parts->frames,
        .arena = server->arena,
        .route = server->parts->route,
        .sender = sender,
    };
    if (request.route.request != 0)
        weir_answered_begin(&listener->answered, &request.route, weir_loop_clock_ms(server->loop));
    if (!server->is_meanwhile)
        handler->fn(server->owner, &request);
    else if (!server->meanwhile(server->owner, &request)) {
        weir_answered_forget(&listener->answered, &request.route);
        return false;
    }
    return true;
}

/* False: it came meanwhile, and has to wait. */
static bool serve_message(struct weir_listener *listener)
{
    struct weir_rpc_server *server = listener->server;
    const struct weir_rpc_handler *handler = NULL;
    struct weir_error err = {0};
    void *message = NULL;
    bool is_served = true;
    const struct weir_sender *sender = find_sender(listener);
    enum weir_status status =
        choose_handler(listener, sender, server->parts->envelope.type, &handler, &err);
    if (status == WEIR_OK) {
        message = weir_arena_alloc(server->arena, weir_message_info(handler->type)->size);
        status = weir_message_unpack(handler->type, weir_parts_header(server->parts), server->arena,
                                     message, &err);
    }
    if (status == WEIR_OK)
        is_served = handle(listener, sender, handler, message);
    else
        turn_away(server, &err);
    if (sender == NULL) /* it came before its connection was cut */
        weir_guests_cut(&server->guests, server->parts->route.connection,
                        server->parts->route.cookie);
    return is_served;
}

static enum weir_received receive(struct weir_listener *listener)
{
    struct weir_parts *parts = listener->server->parts;
    parts->bytes_max = listener->bytes_max;
    parts->is_keyed = listener->is_keyed;
    parts->since_ms = listener->since_ms;
    enum weir_received received = weir_parts_receive(listener->socket, true, parts);
    listener->has_more = received != WEIR_RECEIVED_NOTHING;
    parts->route.listener = listener->number;
    if (listener->is_keyed && received != WEIR_RECEIVED_NOTHING) {
        parts->route.connection = parts->connection;
        parts->route.cookie =
            weir_guests_note(&listener->server->guests, parts->connection, parts->public);
    }
    return received;
}

/* A line a minute at most. */
static void report_cuts(struct weir_rpc_server *server)
{
    uint64_t cuts = weir_inflow_cuts();
    int64_t now_ms = weir_loop_now_ms(server->loop);
    if (cuts == server->cuts || now_ms < server->cuts_log_ms)
        return;
    weir_log(WEIR_LOG_WARN, "connections that sent too much at once were cut",
             "times=%llu held_bytes=%zu", (unsigned long long)(cuts - server->cuts),
             weir_inflow_charged());
    server->cuts = cuts;
    server->cuts_log_ms = now_ms + CUTS_LOG_MS;
}

/* ---- serving ---- */

static void serve_soon(struct weir_rpc_server *server);

/* Takes the message at hand, which came meanwhile. */
static void keep(struct weir_rpc_server *server, struct weir_listener *listener)
{
    server->meanwhile_message->listener = listener;
    if (!weir_kept_add(&server->kept, server->meanwhile_message))
        return;
    server->meanwhile_message = NULL;
    serve_soon(server);
}

/* False: there is none. */
static bool serve_next(struct weir_listener *listener)
{
    struct weir_rpc_server *server = listener->server;
    enum weir_received received = receive(listener);
    if (received == WEIR_RECEIVED_NOTHING)
        return false;
    if (received == WEIR_RECEIVED_MALFORMED)
        turn_away(server, &server->parts->err);
    else if (!is_copy(listener, server->parts) && !serve_message(listener))
        keep(server, listener);
    weir_arena_clear(server->arena);
    return true;
}

/* Serves the oldest message that is kept. False: there is none. */
static bool serve_kept(struct weir_rpc_server *server)
{
    WEIR_AUTO(weir_kept_message) message = weir_kept_take(&server->kept);
    if (message == NULL)
        return false;
    server->parts = &message->parts;
    if (!is_copy(message->listener, &message->parts))
        (void)serve_message(message->listener);
    server->parts = &server->own_parts;
    weir_arena_clear(server->arena);
    return true;
}

static bool may_serve(const struct weir_rpc_server *server, int64_t end_ms)
{
    return !server->closed && !weir_loop_stopping(server->loop) &&
           weir_loop_clock_ms(server->loop) < end_ms;
}

/* Messages of one peer are handled in the order in which they came: those that are kept are older. */
static void serve_some(struct weir_rpc_server *server, struct weir_listener *listener)
{
    int64_t end_ms = weir_loop_clock_ms(server->loop) + DRAIN_MS;
    server->draining = true;
    for (int i = 0; i < DRAIN_BUDGET && may_serve(server, end_ms) &&
                    (serve_kept(server) || (listener != NULL && serve_next(listener)));
         i++)
        continue;
    server->draining = false;
}

static void drain(void *owner)
{
    struct weir_listener *listener = owner;
    struct weir_rpc_server *server = listener->server;
    if (!listener->has_more)
        listener->since_ms = weir_loop_before_ms(server->loop);
    serve_some(server, listener);
    report_cuts(server);
    if (server->closed)
        free_server(server);
}

/* ---- while a handler waits ---- */

static void on_kept(void *owner)
{
    struct weir_rpc_server *server = owner;
    server->kept_timer = 0;
    serve_some(server, NULL);
    if (server->closed)
        free_server(server);
    else
        serve_soon(server);
}

static void serve_soon(struct weir_rpc_server *server)
{
    if (server->kept_timer == 0 && server->kept.count > 0)
        server->kept_timer = weir_loop_timer(server->loop, 0, 0, on_kept, server);
}

static bool serve_next_meanwhile(struct weir_listener *listener)
{
    struct weir_rpc_server *server = listener->server;
    if (server->meanwhile_message == NULL)
        server->meanwhile_message = weir_kept_message_new();
    server->parts = &server->meanwhile_message->parts;
    return serve_next(listener);
}

/* The message at hand stays as it is. */
static void drain_meanwhile(void *owner)
{
    struct weir_listener *listener = owner;
    struct weir_rpc_server *server = listener->server;
    struct weir_parts *parts = server->parts;
    struct weir_arena *arena = server->arena;
    server->arena = server->meanwhile_arena;
    server->is_meanwhile = true;
    for (int i = 0; i < DRAIN_BUDGET && serve_next_meanwhile(listener); i++)
        continue;
    weir_loop_socket_used(server->loop, listener->socket);
    server->is_meanwhile = false;
    server->arena = arena;
    server->parts = parts;
}

void weir_rpc_serve_meanwhile(struct weir_rpc_server *server, weir_rpc_meanwhile_fn *fn)
{
    weir_require(server->meanwhile == NULL);
    server->meanwhile = fn;
    server->meanwhile_arena = weir_arena_new();
    for (size_t i = 0; i < server->listener_count; i++)
        weir_loop_watch_socket_meanwhile(server->loop, server->listeners[i]->socket,
                                         drain_meanwhile, server->listeners[i]);
}

/* ---- life ---- */

struct weir_rpc_server *weir_rpc_server_new(struct weir_loop *loop,
                                            const struct weir_rpc_handler *handlers, void *owner)
{
    struct weir_rpc_server *server = weir_calloc(1, sizeof(*server));
    server->loop = loop;
    server->handlers = handlers;
    server->owner = owner;
    server->arena = weir_arena_new();
    server->parts = &server->own_parts;
    weir_parts_init(server->parts, 0);
    weir_kept_init(&server->kept);
    return server;
}

static enum weir_status add_listener(struct weir_rpc_server *server,
                                     const struct weir_rpc_door *door, unsigned role,
                                     struct weir_error *err)
{
    weir_require(server->listener_count < LISTENERS_MAX && server->meanwhile == NULL);
    struct weir_listener *listener = NULL;
    enum weir_status status = weir_listener_open(server->loop, door, role, &listener, err);
    if (status != WEIR_OK)
        return status;
    listener->server = server;
    listener->number = (uint8_t)server->listener_count;
    server->listeners[server->listener_count++] = listener;
    weir_loop_watch_socket(server->loop, listener->socket, drain, listener);
    return WEIR_OK;
}

enum weir_status weir_rpc_listen(struct weir_rpc_server *server, const char *endpoint,
                                 enum weir_role role, struct weir_error *err)
{
    return add_listener(server, &(struct weir_rpc_door){.endpoint = endpoint}, role, err);
}

/* ---- keys ---- */

/* The first listener for those who have keys, or NULL. */
static struct weir_listener *keyed_listener(const struct weir_rpc_server *server)
{
    for (size_t i = 0; i < server->listener_count; i++)
        if (server->listeners[i]->is_keyed)
            return server->listeners[i];
    return NULL;
}

const char *weir_rpc_keyed_address(const struct weir_rpc_server *server)
{
    const struct weir_listener *listener = keyed_listener(server);
    return listener != NULL ? listener->address : NULL;
}

static void on_denied(void *owner, const char *public, const char *address)
{
    struct weir_listener *listener = keyed_listener(owner);
    const struct weir_refusal refusal = {
        .public = public, .message = "handshake", .where = address};
    if (listener != NULL)
        note_refusal(listener, &refusal);
}

static enum weir_status open_gate(struct weir_rpc_server *server, struct weir_error *err)
{
    enum weir_status status =
        weir_gate_open(server->loop, &server->keyring, on_denied, server, &server->gate, err);
    if (status == WEIR_OK && server->keyring.number > 0)
        weir_gate_begin(server->gate);
    return status;
}

enum weir_status weir_rpc_listen_keyed(struct weir_rpc_server *server,
                                       const struct weir_rpc_door *door, struct weir_error *err)
{
    enum weir_status status = WEIR_OK;
    if (server->gate == NULL) /* before anybody can connect */
        status = open_gate(server, err);
    weir_inflow_expect_keys();
    return status == WEIR_OK ? add_listener(server, door, 0, err) : status;
}

enum weir_status weir_rpc_set_keys(struct weir_rpc_server *server, const struct msg_keys_set *keys,
                                   struct weir_error *err)
{
    uint64_t number = server->keyring.number;
    enum weir_status status = weir_keyring_set(&server->keyring, keys, err);
    if (server->gate == NULL || server->keyring.number == number)
        return status;
    if (number == 0) /* nobody has been let in yet */
        weir_gate_begin(server->gate);
    else
        weir_guests_keep_to(&server->guests, &server->keyring);
    return status;
}

const struct weir_keyring *weir_rpc_keyring(const struct weir_rpc_server *server)
{
    return &server->keyring;
}

void weir_rpc_on_refusal(struct weir_rpc_server *server, weir_refusal_fn *fn, void *owner)
{
    server->refused = fn;
    server->refused_owner = owner;
}

enum weir_status weir_rpc_serve(struct weir_loop *loop, const char *endpoint,
                                const struct weir_rpc_handler *handlers, void *owner,
                                struct weir_rpc_server **ret_server, struct weir_error *err)
{
    WEIR_AUTO(weir_rpc_server) server = weir_rpc_server_new(loop, handlers, owner);
    enum weir_status status = weir_rpc_listen(server, endpoint, WEIR_ROLE_PLATFORM, err);
    if (status == WEIR_OK)
        *ret_server = WEIR_TAKE(server);
    return status;
}

void weir_rpc_server_close(struct weir_rpc_server *server)
{
    if (server == NULL)
        return;
    if (server->draining) {
        server->closed = true;
        return;
    }
    free_server(server);
}

const char *weir_rpc_endpoint(const struct weir_rpc_server *server)
{
    return server->listeners[0]->endpoint;
}

const char *weir_rpc_address(const struct weir_rpc_server *server)
{
    return server->listeners[0]->address;
}

uint64_t weir_rpc_strangers(const struct weir_rpc_server *server)
{
    uint64_t count = 0;
    for (size_t i = 0; i < server->listener_count; i++)
        count += weir_strangers_count(server->listeners[i]->strangers);
    return count;
}

uint64_t weir_rpc_turned_away(const struct weir_rpc_server *server)
{
    return server->turned_away;
}
