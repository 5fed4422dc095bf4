/* Requests, replies and one-way messages over ROUTER (server) and DEALER (peer). Requests are
 * idempotent by design: a peer sends a request again until it is answered or its deadline passes,
 * across restarts of the server; copies that were asked before it was taken up, or its answer got
 * there, are passed over. Every socket is opened here with LINGER 0, bounded high-water marks and
 * ZMQ_MAXMSGSIZE, and those on TCP with keys (keys.h). Malformed messages are counted, answered with
 * `error` when they carry a request number, and never reach a handler. */
#ifndef WEIR_RPC_RPC_H
#define WEIR_RPC_RPC_H

#include "core/loop/loop.h"
#include "core/rpc/frames.h"
#include "core/rpc/keyring.h"
#include "core/rpc/pair.h"
#include "core/wire/wire.h"

#include <sys/types.h>

enum {
    WEIR_ROUTE_MAX = 64,      /* bytes of a ROUTER identity */
    WEIR_RPC_RESEND_MS = 500, /* an unanswered request is sent again, at first */
    /* … and at last, under keys: who has one knows when its server is there again */
    WEIR_RPC_RESEND_MAX_MS = 2000,
    /* … one that was refused as UNAVAILABLE, at first; then twice as long */
    WEIR_RPC_REFUSED_MS = 10,
    WEIR_RPC_FRAMED_RESEND_MS = 1000,     /* … one with frames, at first */
    WEIR_RPC_FRAMED_RESEND_MAX_MS = 8000, /* … and at last */
    WEIR_RPC_MESSAGE_MAX = 1 << 30,       /* bytes of a message to a peer, all frames together */
    WEIR_RPC_REQUEST_MAX = 64 << 20,      /* … of one to a server */
    /* … of one to a server on TCP, where each stranger can have so many held */
    WEIR_RPC_TCP_REQUEST_MAX = 32 << 10,
    WEIR_RPC_CALLS_MAX = 4096, /* open calls of one peer; more are refused with LIMIT */
};

/* ---- server: one ROUTER for each endpoint it is bound at ---- */

struct weir_rpc_server;

/* Route of a reply; a plain value, may be copied and used after the handler returned. */
struct weir_route {
    uint8_t identity[WEIR_ROUTE_MAX];
    uint8_t identity_size;
    uint8_t listener; /* of the server, which it came through */
    int connection;   /* under keys: descriptor that it came by, and the kernel's name of that */
    uint64_t cookie;
    uint64_t request; /* 0: a one-way message, nothing is replied */
    uint64_t trace;
};
/* True for routes to one peer; and for those of one request of it, however often it was asked. */
bool weir_route_is_of_peer(const struct weir_route *route, const struct weir_route *other);
bool weir_route_is_of_request(const struct weir_route *route, const struct weir_route *other);

struct weir_request {
    struct weir_rpc_server *server;
    enum weir_message type;
    const void *message;        /* struct msg_NAME, valid during the handler */
    struct weir_frames *frames; /* payload frames; weir_frames_move() keeps them */
    struct weir_arena *arena;   /* lives until the handler returns */
    struct weir_route route;
    const struct weir_sender *sender; /* weir_rpc_sender() */
};

typedef void weir_rpc_handler_fn(void *owner, struct weir_request *request);
/* Returns who has sent a request, until the handler returns: whose key it came under, as the keyring of now says; of
 * sockets of this host, whoever reaches them: the platform, or trainers. */
const struct weir_sender *weir_rpc_sender(const struct weir_request *request);
/* True, with its user, when the sender is a process of this host, on a local socket. Until the handler returns. */
bool weir_rpc_user(const struct weir_request *request, uid_t *ret_user);
/* Returns the number that stands for the sender's key in quotas (core/base/quota.h); 0: it is on this host. */
uint64_t weir_rpc_quota_key(const struct weir_request *request);
/* Returns the role of the sender. */
enum weir_role weir_rpc_role(const struct weir_request *request);

struct weir_rpc_handler {
    enum weir_message type;
    weir_rpc_handler_fn *fn;
};
#define WEIR_ON(name, fn) \
    {                     \
        MSG_##name, fn    \
    }

/* False for ipc://, inproc:// and TCP addresses of the loopback. */
bool weir_rpc_leaves_host(const char *endpoint);
/* UNSUPPORTED for an endpoint that leaves the host. Every socket without a pair of keys is held to it. */
enum weir_status weir_rpc_check_endpoint(const char *endpoint,
                                         struct weir_error *err) WEIR_MUST_USE;

/* Binds `endpoint` (ipc://…, inproc://…, tcp://127.0.0.1:*). Messages without a row in `handlers`
 * (terminated by {MSG_none}) are refused with UNSUPPORTED. IO when the endpoint is taken or not
 * bindable: the text names it. */
enum weir_status weir_rpc_serve(struct weir_loop *loop, const char *endpoint,
                                const struct weir_rpc_handler *handlers, void *owner,
                                struct weir_rpc_server **ret_server,
                                struct weir_error *err) WEIR_MUST_USE;
/* A server that is bound nowhere yet. */
struct weir_rpc_server *weir_rpc_server_new(struct weir_loop *loop,
                                            const struct weir_rpc_handler *handlers, void *owner);
/* Binds the server at one more endpoint, for a role: messages that messages.def does not let it send are refused there
 * with DENIED, before they are decoded. WEIR_ROLE_PLATFORM may send all. At most three. Errors as weir_rpc_serve(),
 * which makes a server and binds it for the platform. */
enum weir_status weir_rpc_listen(struct weir_rpc_server *server, const char *endpoint,
                                 enum weir_role role, struct weir_error *err) WEIR_MUST_USE;
/* Answers a request that comes while the handler of another one, or a timer, waits (weir_loop_wait()): waits for
 * nothing, and finds everything as those left it. False: it has to wait, and is handled afterwards. */
typedef bool weir_rpc_meanwhile_fn(void *owner, struct weir_request *request);
/* Once, after the server is bound. Of messages that wait a bounded number is kept; the others are asked again. */
void weir_rpc_serve_meanwhile(struct weir_rpc_server *server, weir_rpc_meanwhile_fn *fn);
/* An endpoint that is reached from elsewhere. */
struct weir_rpc_door {
    const char *endpoint;         /* tcp://HOST:PORT, or PORT * */
    const char *advertise;        /* host by which others reach it; NULL: that of the endpoint */
    const struct weir_pair *pair; /* proof of identity; borrowed for the call */
};
/* Binds the server at one more endpoint, which counts for weir_rpc_listen(), for those whose keys are in the server's
 * keyring: as long as it is empty nobody is let in. Each message is held to the role that its key has then. EXISTS when
 * another server of the loop has such an endpoint. */
enum weir_status weir_rpc_listen_keyed(struct weir_rpc_server *server,
                                       const struct weir_rpc_door *door,
                                       struct weir_error *err) WEIR_MUST_USE;
/* Sets the keyring in full, unless it has the number or a larger one. Connections under keys that are not in it are
 * cut, and nothing is told to those who had them. INVALID, and nothing changes. */
enum weir_status weir_rpc_set_keys(struct weir_rpc_server *server, const struct msg_keys_set *keys,
                                   struct weir_error *err) WEIR_MUST_USE;
const struct weir_keyring *weir_rpc_keyring(const struct weir_rpc_server *server);
/* "tcp://HOST:PORT#KEY" at which those who have keys reach it: no secret; NULL: they do not. */
const char *weir_rpc_keyed_address(const struct weir_rpc_server *server);

/* A message that was refused, or a handshake. */
struct weir_refusal {
    const struct weir_sender *sender; /* NULL: a key that is not let in */
    const char *public;               /* the key; "": it has none */
    const char *message;              /* its name, or "handshake" */
    const char *where;                /* endpoint that it came to, or address that it came from */
};
/* Told of every refusal, for an audit. The log tells of 20 a minute for each endpoint. */
typedef void weir_refusal_fn(void *owner, const struct weir_refusal *refusal);
void weir_rpc_on_refusal(struct weir_rpc_server *server, weir_refusal_fn *fn, void *owner);

void weir_rpc_server_close(struct weir_rpc_server *server);
WEIR_DEFINE_AUTO(weir_rpc_server, weir_rpc_server_close)
/* The first endpoint, as really bound (a port chosen by the system filled in), for people. */
const char *weir_rpc_endpoint(const struct weir_rpc_server *server);
/* The first endpoint, and over TCP the key behind it: what a peer connects to. To have it is to be let in: send it over
 * local sockets only, and log it nowhere. */
const char *weir_rpc_address(const struct weir_rpc_server *server);
/* Number of messages turned away before a handler saw them: malformed, not served, or not their sender's to send. */
uint64_t weir_rpc_turned_away(const struct weir_rpc_server *server);
/* Number of connections turned away for want of the key. */
uint64_t weir_rpc_strangers(const struct weir_rpc_server *server);

/* Sends the answer of a request. `frames` (NULL: none) are consumed. A vanished asker is not an
 * error. */
void weir_rpc_reply(struct weir_rpc_server *server, const struct weir_route *route,
                    enum weir_message type, const void *message, struct weir_frames *frames);
void weir_rpc_refuse(struct weir_rpc_server *server, const struct weir_route *route,
                     const struct weir_error *err);
/* Replies when `status` is OK, else refuses with `err`. `frames` are consumed; NULL: there are none. */
void weir_rpc_answer(const struct weir_request *request, enum weir_status status,
                     enum weir_message type, const void *message, struct weir_frames *frames,
                     const struct weir_error *err);

/* Defines on_REQUEST(), a handler that computes its answer and sends it, or refuses the request. The last argument is
 * an expression of type enum weir_status that fills `answer`, a zeroed struct msg_ANSWER, and may fill `frames`, which
 * are none, or `err`. It may read `owner`, of type OWNER *, `asked`, a const struct msg_REQUEST *, and `arena`. */
// clang-format off
#define WEIR_ANSWERED(OWNER, REQUEST, ANSWER, ...)                                           \
    static void on_##REQUEST(void *weir_owner, struct weir_request *weir_request)            \
    {                                                                                        \
        OWNER *owner = weir_owner;                                                           \
        const struct msg_##REQUEST *asked = weir_request->message;                           \
        struct weir_arena *arena = weir_request->arena;                                      \
        struct msg_##ANSWER weir_answer = {0}, *answer = &weir_answer;                       \
        struct weir_frames weir_frames = {.count = 0}, *frames = &weir_frames;               \
        struct weir_error weir_error, *err = &weir_error;                                    \
        enum weir_status weir_status = (__VA_ARGS__);                                        \
                                                                                             \
        (void)owner, (void)asked, (void)arena, (void)answer, (void)frames;                   \
        weir_rpc_answer(weir_request, weir_status, MSG_##ANSWER, answer, frames, err);       \
    }
// clang-format on

/* One-way message to a connected peer (credit, batch). False when it is not connected or its queue
 * is full: the frames are kept then, and consumed otherwise. */
bool weir_rpc_push(struct weir_rpc_server *server, const struct weir_route *route,
                   enum weir_message type, const void *message, struct weir_frames *frames);

/* ---- peer: a connected DEALER ---- */

struct weir_rpc_peer;

/* `handlers` receive one-way messages and may be NULL. Connecting never fails for a missing server:
 * it may come. INVALID for a TCP address without its key. */
enum weir_status weir_rpc_connect(struct weir_loop *loop, const char *address,
                                  const struct weir_rpc_handler *handlers, void *owner,
                                  struct weir_rpc_peer **ret_peer,
                                  struct weir_error *err) WEIR_MUST_USE;
/* A connection under a pair of keys. */
struct weir_rpc_connection {
    struct weir_loop *loop;
    const char *address;          /* wherever that is */
    const struct weir_pair *pair; /* borrowed for the call; NULL: see weir_rpc_connect() */
    const struct weir_rpc_handler *handlers;
    void *owner;
    struct weir_rpc_peer **ret_peer;
    struct weir_error *err;
};
/* weir_rpc_connect_as(loop, address, pair, handlers, owner, ret_peer, err). Calls are refused with DENIED once the
 * other side has looked at the key and turned it away; it is asked again and again all the same, as the key may be
 * let in later. */
#define weir_rpc_connect_as(...) \
    weir_rpc_connect_under(&(const struct weir_rpc_connection){__VA_ARGS__})
enum weir_status weir_rpc_connect_under(const struct weir_rpc_connection *to) WEIR_MUST_USE;
/* Open calls are dropped without their callback. */
void weir_rpc_peer_close(struct weir_rpc_peer *peer);
WEIR_DEFINE_AUTO(weir_rpc_peer, weir_rpc_peer_close)

/* Endpoint of the address given to weir_rpc_connect(), without its key. */
const char *weir_rpc_peer_endpoint(const struct weir_rpc_peer *peer);
/* Connects again, and sends open calls again: ZeroMQ keeps the last kilobytes of a connection, at both of its ends,
 * for as long as it lasts. Not from a callback of this peer. */
void weir_rpc_peer_renew(struct weir_rpc_peer *peer);
/* Lets what was sent leave after weir_rpc_peer_close() too: weir_loop_free() waits for it, at most
 * `linger_ms`. */
void weir_rpc_peer_linger(struct weir_rpc_peer *peer, int linger_ms);

struct weir_reply {
    enum weir_message type;
    const void *message; /* valid during the callback */
    struct weir_frames *frames;
    struct weir_arena *arena;
};
/* Called exactly once per call, never from inside weir_rpc_call(): with a reply, or with `reply`
 * NULL and the error: the server's refusal, TIMEOUT, or UNSUPPORTED for a message that does not answer
 * the request (core/wire/answers.def). A refusal with UNAVAILABLE is asked again until the deadline. */
typedef void weir_rpc_done_fn(void *owner, const struct weir_reply *reply,
                              const struct weir_error *err);

/* Asks. `deadline_ms` counts from now. */
void weir_rpc_call(struct weir_rpc_peer *peer, enum weir_message type, const void *message,
                   int64_t deadline_ms, weir_rpc_done_fn *done, void *owner);
/* A request with raw frames beside it. */
struct weir_framed_call {
    enum weir_message type;
    const void *message;
    struct weir_frames *frames; /* consumed: kept by the call, so that they can be sent again */
    int64_t deadline_ms;
    weir_rpc_done_fn *done;
    void *owner;
};
/* weir_rpc_call() with frames. They may be large, so an unanswered one is sent again after a second, then
 * after twice as long each time, up to WEIR_RPC_FRAMED_RESEND_MAX_MS. */
void weir_rpc_call_framed(struct weir_rpc_peer *peer, const struct weir_framed_call *call);
/* Drops all open calls of `owner` without their callback. */
void weir_rpc_forget(struct weir_rpc_peer *peer, const void *owner);
/* One-way; dropped when the queue is full. */
void weir_rpc_send(struct weir_rpc_peer *peer, enum weir_message type, const void *message);

/* A call that waits and where its reply goes: eight things are too many for a parameter list, so they come by
 * place. */
struct weir_waiting_call {
    struct weir_rpc_peer *peer;
    enum weir_message type;
    const void *message;
    int64_t deadline_ms;        /* from now */
    enum weir_message expected; /* type of the reply */
    struct weir_arena *arena;   /* what the decoded reply lives in */
    void *ret_message;          /* struct msg_NAME of `expected` */
    struct weir_error *err;
};

/* For programs without a loop of their own (weir, a trainer's main thread): asks and waits, running only this
 * peer. weir_rpc_request(peer, type, message, deadline_ms, expected, arena, ret_message, err). Frames of the
 * reply are dropped: use weir_rpc_call() for those. */
#define weir_rpc_request(...) \
    weir_rpc_request_waiting(&(const struct weir_waiting_call){__VA_ARGS__})
enum weir_status weir_rpc_request_waiting(const struct weir_waiting_call *asked) WEIR_MUST_USE;

#endif
