/* Opening sockets: one table of options for both kinds, then bind or connect. */
#include "core/rpc/socket.h"

#include "core/base/file.h"
#include "core/base/memory.h"
#include "core/base/rng.h"
#include "core/rpc/keys.h"
#include "core/rpc/knocking.h"
#include "core/rpc/rpc.h"

#include <arpa/inet.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>
#include <zmq.h>

enum {
    HIGH_WATER_MESSAGES = 1024, /* a last resort: flow control is credit and deadlines */
    REQUESTS_WAITING = 64,      /* of one peer, at a server: the others wait where they come from */
    HANDSHAKE_MS = 5000,        /* a stranger holds a connection for so long … */
    HANDSHAKE_ELSEWHERE_MS = 30 * 1000, /* … and where thousands come at once, each of whom costs
                                           a millisecond: who gives up begins again, … */
    HANDSHAKE_PEER_MS = 60 * 1000,      /* … so the server is the first to */
    RECONNECT_MS = 20,
    RECONNECT_MAX_MS = 200,
    IDENTITY_BYTES = 16,
    KEEPALIVE_S = 10, /* of silence, on a connection that leaves this host; then probes */
    PROBE_S = 5,
    PROBES = 3,
    UNHEARD_MS = 10 * 1000, /* what was sent and is not acknowledged: the other side is gone */
    CONNECT_MS = 3000, /* then it is tried again: the system would wait twice as long each time */
    ARRIVALS = 4096,   /* not accepted yet: after a restart thousands come at once */
    CLOSE_WAIT_NS = 200 * 1000,
    CLOSE_WAITS_MAX = 2500,
};

static const char IPC[] = "ipc://";

static bool is_ipc(const char *endpoint)
{
    return strncmp(endpoint, IPC, sizeof(IPC) - 1) == 0;
}

static const char *path_of(const char *endpoint)
{
    return endpoint + sizeof(IPC) - 1;
}

struct option {
    bool server, peer;
    int option, value;
};
static const struct option OPTIONS[] = {
    {true, true, ZMQ_LINGER, 0},
    {true, true, ZMQ_SNDHWM, HIGH_WATER_MESSAGES},
    {false, true, ZMQ_RCVHWM, HIGH_WATER_MESSAGES},
    {true, false, ZMQ_RCVHWM, REQUESTS_WAITING},
    {true, true, ZMQ_HANDSHAKE_IVL, HANDSHAKE_MS},
    {true, true, ZMQ_TCP_KEEPALIVE, 1},
    {true, false, ZMQ_ROUTER_MANDATORY, 1}, /* sending to nobody fails instead of vanishing */
    {true, false, ZMQ_ROUTER_HANDOVER, 1},  /* a peer that reconnects keeps its route */
    {false, true, ZMQ_IMMEDIATE, 0}, /* what is sent before the server is there waits for it */
    {false, true, ZMQ_RECONNECT_IVL, RECONNECT_MS},
    {false, true, ZMQ_RECONNECT_IVL_MAX, RECONNECT_MAX_MS},
};
/* With a pair: nobody takes the route of another one, and the far end may vanish without a word. */
static const struct option ELSEWHERE[] = {
    {true, false, ZMQ_ROUTER_HANDOVER, 0},
    {true, false, ZMQ_BACKLOG, ARRIVALS},
    {true, false, ZMQ_HANDSHAKE_IVL, HANDSHAKE_ELSEWHERE_MS},
    {false, true, ZMQ_HANDSHAKE_IVL, HANDSHAKE_PEER_MS},
    {true, true, ZMQ_TCP_KEEPALIVE_IDLE, KEEPALIVE_S},
    {true, true, ZMQ_TCP_KEEPALIVE_INTVL, PROBE_S},
    {true, true, ZMQ_TCP_KEEPALIVE_CNT, PROBES},
    {true, true, ZMQ_TCP_MAXRT, UNHEARD_MS},
    {false, true, ZMQ_CONNECT_TIMEOUT, CONNECT_MS},
};

size_t weir_socket_bytes_max(const struct weir_socket_plan *plan)
{
    if (plan->kind == WEIR_SOCKET_PEER)
        return WEIR_RPC_MESSAGE_MAX;
    return weir_keys_are_needed(plan->address) && plan->pair == NULL ? WEIR_RPC_TCP_REQUEST_MAX
                                                                     : WEIR_RPC_REQUEST_MAX;
}

static void set_all(void *socket, const struct option *options, size_t count, bool is_server)
{
    for (size_t i = 0; i < count; i++) {
        if (is_server ? !options[i].server : !options[i].peer)
            continue;
        int rc = zmq_setsockopt(socket, options[i].option, &options[i].value, sizeof(int));
        weir_require(rc == 0);
    }
}

/* A route of its own, which it keeps when it connects again. */
static void name_peer(void *socket)
{
    uint8_t identity[IDENTITY_BYTES];
    weir_random_bytes(identity, sizeof(identity));
    identity[0] |= 1; /* those starting with 0 belong to ZeroMQ */
    int rc = zmq_setsockopt(socket, ZMQ_ROUTING_ID, identity, sizeof(identity));
    weir_require(rc == 0);
}

/* Servers elsewhere have thousands of peers. */
static void draw_reconnects(void *socket)
{
    const struct weir_reconnects reconnects = weir_reconnects_draw(weir_random_u64());
    const struct option drawn[] = {
        {false, true, ZMQ_RECONNECT_IVL, reconnects.first_ms},
        {false, true, ZMQ_RECONNECT_IVL_MAX, reconnects.last_ms},
    };
    set_all(socket, drawn, WEIR_COUNT(drawn), false);
}

static void set_options(void *socket, const struct weir_socket_plan *plan)
{
    bool is_server = plan->kind == WEIR_SOCKET_SERVER;
    set_all(socket, OPTIONS, WEIR_COUNT(OPTIONS), is_server);
    if (plan->pair != NULL)
        set_all(socket, ELSEWHERE, WEIR_COUNT(ELSEWHERE), is_server);
    if (plan->pair != NULL && !is_server)
        draw_reconnects(socket);
    else if (!is_server)
        name_peer(socket);
    int64_t message_max = (int64_t)weir_socket_bytes_max(plan);
    int rc = zmq_setsockopt(socket, ZMQ_MAXMSGSIZE, &message_max, sizeof(message_max));
    weir_require(rc == 0);
}

/* Does a process listen at the address? */
static bool is_answered(const struct sockaddr_un *address)
{
    WEIR_AUTO_FD int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    return fd >= 0 && connect(fd, (const struct sockaddr *)address, sizeof(*address)) == 0;
}

/* ZeroMQ unlinks whatever socket file stands at the path and binds its own: right when the file is what a
 * dead process left behind, but it would cut off a live one. */
static enum weir_status check_path(const char *path, struct weir_error *err)
{
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    if (strlen(path) >= sizeof(address.sun_path))
        return weir_fail(err, WEIR_IO,
                         "socket %s: the path has %zu characters, at most %zu are possible", path,
                         strlen(path), sizeof(address.sun_path) - 1);
    memcpy(address.sun_path, path, strlen(path));
    if (is_answered(&address))
        return weir_fail(
            err, WEIR_IO,
            "socket %s is in use by another process: stop that, or use another directory", path);
    return WEIR_OK;
}

/* "127.…" and "[::1]"; names may stand for anything. */
static bool is_loopback(const char *host)
{
    struct in_addr address;
    char number[INET_ADDRSTRLEN];
    const char *end = strrchr(host, ':');
    if (strncmp(host, "[::1]:", 6) == 0)
        return true;
    if (end == NULL || (size_t)(end - host) >= sizeof(number))
        return false;
    memcpy(number, host, (size_t)(end - host));
    number[end - host] = '\0';
    return inet_pton(AF_INET, number, &address) == 1 && (ntohl(address.s_addr) >> 24) == 127;
}

bool weir_rpc_leaves_host(const char *endpoint)
{
    static const char TCP[] = "tcp://", INPROC[] = "inproc://";
    bool is_tcp = weir_keys_are_needed(endpoint);
    bool is_here = is_ipc(endpoint) || strncmp(endpoint, INPROC, sizeof(INPROC) - 1) == 0 ||
                   strstr(endpoint, "://") == NULL; /* is no endpoint */
    return !is_here && !(is_tcp && is_loopback(endpoint + sizeof(TCP) - 1));
}

enum weir_status weir_rpc_check_endpoint(const char *endpoint, struct weir_error *err)
{
    if (!weir_rpc_leaves_host(endpoint))
        return WEIR_OK;
    return weir_fail(
        err, WEIR_UNSUPPORTED,
        "%s leaves this host, which takes keys (--listen of the orchestrator, --key of "
        "others): expected a loopback address, such as tcp://127.0.0.1:*",
        endpoint);
}

static enum weir_status bind_socket(void *socket, const char *endpoint, struct weir_error *err)
{
    if (is_ipc(endpoint)) {
        enum weir_status status = check_path(path_of(endpoint), err);
        if (status != WEIR_OK)
            return status;
    }
    if (zmq_bind(socket, endpoint) != 0)
        return weir_fail(err, WEIR_IO, "cannot listen on %s: %s", endpoint, zmq_strerror(errno));
    return WEIR_OK;
}

static enum weir_status connect_socket(void *socket, const char *endpoint, struct weir_error *err)
{
    if (zmq_connect(socket, endpoint) != 0)
        return weir_fail(err, WEIR_INVALID, "cannot connect to %s: %s", endpoint,
                         zmq_strerror(errno));
    return WEIR_OK;
}

static enum weir_status check_endpoint(const struct weir_socket_plan *plan, const char *endpoint,
                                       struct weir_error *err)
{
    if (plan->pair == NULL)
        return weir_rpc_check_endpoint(endpoint, err);
    return weir_keys_are_needed(endpoint)
               ? WEIR_OK
               : weir_fail(err, WEIR_INVALID, "%s: expected tcp://HOST:PORT", endpoint);
}

static enum weir_status set_keys(void *socket, const struct weir_socket_plan *plan,
                                 struct weir_error *err)
{
    return plan->kind == WEIR_SOCKET_SERVER
               ? weir_keys_serve(socket, plan->pair, err)
               : weir_keys_connect(socket, plan->address, plan->pair, err);
}

enum weir_status weir_socket_new(struct weir_loop *loop, const struct weir_socket_plan *plan,
                                 void **ret_socket, struct weir_error *err)
{
    bool server = plan->kind == WEIR_SOCKET_SERVER;
    WEIR_AUTO_FREE char *endpoint = weir_keys_endpoint(plan->address);
    void *socket = zmq_socket(weir_loop_zmq(loop), server ? ZMQ_ROUTER : ZMQ_DEALER);
    if (socket == NULL)
        return weir_fail(err, WEIR_LIMIT, "cannot open a socket for %s: %s", endpoint,
                         zmq_strerror(errno));
    set_options(socket, plan);
    enum weir_status status = check_endpoint(plan, endpoint, err);
    if (status == WEIR_OK && weir_keys_are_needed(endpoint))
        status = set_keys(socket, plan, err);
    if (status != WEIR_OK) {
        weir_socket_close(socket, NULL);
        return status;
    }
    *ret_socket = socket;
    return WEIR_OK;
}

enum weir_status weir_socket_begin(void *socket, const struct weir_socket_plan *plan,
                                   struct weir_error *err)
{
    WEIR_AUTO_FREE char *endpoint = weir_keys_endpoint(plan->address);
    return plan->kind == WEIR_SOCKET_SERVER ? bind_socket(socket, endpoint, err)
                                            : connect_socket(socket, endpoint, err);
}

enum weir_status weir_socket_open(struct weir_loop *loop, const struct weir_socket_plan *plan,
                                  void **ret_socket, struct weir_error *err)
{
    void *socket = NULL;
    enum weir_status status = weir_socket_new(loop, plan, &socket, err);
    if (status != WEIR_OK)
        return status;
    status = weir_socket_begin(socket, plan, err);
    if (status != WEIR_OK) {
        weir_socket_close(socket, NULL);
        return status;
    }
    *ret_socket = socket;
    return WEIR_OK;
}

void weir_socket_linger(void *socket, int linger_ms)
{
    int rc = zmq_setsockopt(socket, ZMQ_LINGER, &linger_ms, sizeof(linger_ms));
    weir_require(rc == 0);
}

/* ZeroMQ's own thread closes the listener, some time after zmq_close(). */
static void wait_until_closed(const char *path)
{
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    memcpy(address.sun_path, path, strlen(path)); /* it was bound: it is short enough */
    for (int i = 0; i < CLOSE_WAITS_MAX && is_answered(&address); i++)
        nanosleep(&(struct timespec){.tv_nsec = CLOSE_WAIT_NS}, NULL);
}

uint64_t weir_socket_cookie(int fd)
{
    uint64_t cookie = 0;
    socklen_t size = sizeof(cookie);
    return getsockopt(fd, SOL_SOCKET, SO_COOKIE, &cookie, &size) == 0 ? cookie : 0;
}

void weir_socket_close(void *socket, const char *bound)
{
    if (socket == NULL)
        return;
    zmq_close(socket);
    if (bound != NULL && is_ipc(bound))
        wait_until_closed(path_of(bound));
}
