/* The answering side: a bound ROUTER, a table of handlers, replies by route. */
#include "core/rpc/rpc.h"

#include "core/base/memory.h"
#include "core/rpc/answered.h"
#include "core/rpc/keys.h"
#include "core/rpc/parts.h"
#include "core/rpc/socket.h"
#include "core/rpc/strangers.h"

#include <stdlib.h>
#include <string.h>

enum {
    DRAIN_BUDGET = 64, /* messages per round, so that others get their turn */
    ENDPOINT_MAX = 512,
};

struct weir_rpc_server {
    struct weir_loop *loop;
    void *socket;
    char endpoint[ENDPOINT_MAX];
    char *address;                    /* the endpoint, and its key */
    struct weir_strangers *strangers; /* NULL: no TCP */
    const struct weir_rpc_handler *handlers;
    void *owner;
    struct weir_arena *arena; /* of the message at hand */
    struct weir_parts parts;
    struct weir_buf header; /* of the message going out */
    struct weir_answered answered;
    uint64_t replies; /* to whomever, refusals too */
    uint64_t malformed;
    bool draining;
    bool closed; /* by a handler: freed when the round is over */
};

static void free_server(struct weir_rpc_server *server)
{
    weir_strangers_free(server->strangers);
    weir_loop_unwatch_socket(server->loop, server->socket);
    weir_socket_close(server->socket, server->endpoint);
    weir_parts_fini(&server->parts);
    weir_buf_fini(&server->header);
    weir_arena_free(server->arena);
    free(server->address);
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

static bool send_message(struct weir_rpc_server *server, const struct weir_route *route,
                         enum weir_message type, const void *message, struct weir_frames *frames)
{
    struct weir_envelope envelope = {
        .type = (uint16_t)type, .request = route->request, .trace = route->trace};
    weir_message_pack(type, message, &server->header);
    bool is_sent =
        weir_parts_send(server->socket, route, &envelope, weir_buf_view(&server->header), frames);
    weir_buf_wipe(&server->header);
    return is_sent;
}

void weir_rpc_reply(struct weir_rpc_server *server, const struct weir_route *route,
                    enum weir_message type, const void *message, struct weir_frames *frames)
{
    /* An asker that is gone, or reads nothing, loses the answer; it asks again if it still cares. */
    bool is_sent = route->request != 0 && send_message(server, route, type, message, frames);
    server->replies++;
    if (!is_sent && frames != NULL)
        weir_frames_clear(frames);
    if (type == MSG_error) /* who is refused may ask again at once */
        weir_answered_forget(&server->answered, route);
    else if (is_sent)
        weir_answered_note(&server->answered, route, weir_loop_clock_ms(server->loop));
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
    server->malformed++;
    weir_rpc_refuse(server, &server->parts.route, err);
}

static bool is_copy(const struct weir_rpc_server *server, const struct weir_route *route)
{
    return route->request != 0 &&
           weir_answered_lately(&server->answered, route, weir_loop_clock_ms(server->loop));
}

static void serve_message(struct weir_rpc_server *server)
{
    struct weir_parts *parts = &server->parts;
    struct weir_error err = {0};
    const struct weir_message_info *info = weir_message_info(parts->envelope.type);
    const struct weir_rpc_handler *handler =
        info != NULL ? find_handler(server->handlers, info->type) : NULL;
    if (handler == NULL) {
        weir_fail(&err, WEIR_UNSUPPORTED, "message %s (0x%04x) is not served at %s",
                  info != NULL ? info->name : "unknown", parts->envelope.type, server->endpoint);
        turn_away(server, &err);
        return;
    }
    void *message = weir_arena_alloc(server->arena, info->size);
    if (weir_message_unpack(info->type, weir_parts_header(parts), server->arena, message, &err) !=
        WEIR_OK) {
        turn_away(server, &err);
        return;
    }
    struct weir_request request = {
        .server = server,
        .type = info->type,
        .message = message,
        .frames = &parts->frames,
        .arena = server->arena,
        .route = parts->route,
    };
    uint64_t replies = server->replies;
    handler->fn(server->owner, &request);
    if (request.route.request != 0 && server->replies == replies)
        weir_answered_begin(&server->answered, &request.route, weir_loop_clock_ms(server->loop));
}

static void drain(void *owner)
{
    struct weir_rpc_server *server = owner;
    server->draining = true;
    for (int i = 0; i < DRAIN_BUDGET && !server->closed && !weir_loop_stopping(server->loop); i++) {
        enum weir_received received = weir_parts_receive(server->socket, true, &server->parts);
        if (received == WEIR_RECEIVED_NOTHING)
            break;
        if (received == WEIR_RECEIVED_MALFORMED)
            turn_away(server, &server->parts.err);
        else if (!is_copy(server, &server->parts.route))
            serve_message(server);
        weir_arena_clear(server->arena);
    }
    server->draining = false;
    if (server->closed)
        free_server(server);
}

enum weir_status weir_rpc_serve(struct weir_loop *loop, const char *endpoint,
                                const struct weir_rpc_handler *handlers, void *owner,
                                struct weir_rpc_server **ret_server, struct weir_error *err)
{
    void *socket = NULL;
    enum weir_status status = weir_socket_open(loop, WEIR_SOCKET_SERVER, endpoint, &socket, err);
    if (status != WEIR_OK)
        return status;
    struct weir_rpc_server *server = weir_calloc(1, sizeof(*server));
    server->loop = loop;
    server->socket = socket;
    server->handlers = handlers;
    server->owner = owner;
    server->arena = weir_arena_new();
    weir_parts_init(&server->parts, weir_socket_bytes_max(WEIR_SOCKET_SERVER, endpoint));
    size_t size = sizeof(server->endpoint);
    int rc = zmq_getsockopt(socket, ZMQ_LAST_ENDPOINT, server->endpoint, &size);
    weir_require(rc == 0);
    server->address = weir_keys_address(socket, server->endpoint);
    weir_loop_watch_socket(loop, socket, drain, server);
    if (weir_keys_are_needed(server->endpoint))
        status = weir_strangers_watch(loop, socket, server->endpoint, &server->strangers, err);
    if (status == WEIR_OK)
        *ret_server = server;
    else
        free_server(server);
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
    return server->endpoint;
}

const char *weir_rpc_address(const struct weir_rpc_server *server)
{
    return server->address;
}

uint64_t weir_rpc_strangers(const struct weir_rpc_server *server)
{
    return weir_strangers_count(server->strangers);
}

uint64_t weir_rpc_malformed(const struct weir_rpc_server *server)
{
    return server->malformed;
}
