/* Binding a socket of a server, and refusing what is not for those who reach it. */
#include "core/rpc/listener.h"

#include "core/base/log.h"
#include "core/base/memory.h"
#include "core/rpc/keys.h"
#include "core/rpc/socket.h"

#include <stdlib.h>
#include <zmq.h>

enum { LOGGED_MAX = 20, LOG_MS = 60 * 1000 };

enum weir_status weir_listener_open(struct weir_loop *loop, const char *endpoint,
                                    enum weir_role role, struct weir_listener **ret_listener,
                                    struct weir_error *err)
{
    void *socket = NULL;
    enum weir_status status = weir_socket_open(loop, WEIR_SOCKET_SERVER, endpoint, &socket, err);
    if (status != WEIR_OK)
        return status;
    WEIR_AUTO(weir_listener) listener = weir_calloc(1, sizeof(*listener));
    listener->loop = loop;
    listener->role = role;
    listener->socket = socket;
    listener->bytes_max = weir_socket_bytes_max(WEIR_SOCKET_SERVER, endpoint);
    size_t size = sizeof(listener->endpoint);
    int rc = zmq_getsockopt(socket, ZMQ_LAST_ENDPOINT, listener->endpoint, &size);
    weir_require(rc == 0);
    listener->address = weir_keys_address(socket, listener->endpoint);
    if (weir_keys_are_needed(listener->endpoint))
        status = weir_strangers_watch(loop, socket, listener->endpoint, &listener->strangers, err);
    if (status == WEIR_OK)
        *ret_listener = WEIR_TAKE(listener);
    return status;
}

void weir_listener_close(struct weir_listener *listener)
{
    if (listener == NULL)
        return;
    weir_strangers_free(listener->strangers);
    weir_loop_unwatch_socket(listener->loop, listener->socket);
    weir_socket_close(listener->socket, listener->endpoint);
    weir_outflow_fini(&listener->outflow);
    free(listener->address);
    free(listener);
}

static void log_refusal(struct weir_listener *listener, const struct weir_message_info *info)
{
    int64_t now_ms = weir_loop_now_ms(listener->loop);
    if (now_ms >= listener->log_ms + LOG_MS) {
        listener->log_ms = now_ms;
        listener->logged = 0;
    }
    if (listener->logged++ >= LOGGED_MAX)
        return;
    weir_log(WEIR_LOG_WARN, "a message is refused: its sender may not send it",
             "message=%s role=%s endpoint=%s", info->name, weir_role_name(listener->role),
             listener->endpoint);
}

enum weir_status weir_listener_admit(struct weir_listener *listener,
                                     const struct weir_message_info *info, struct weir_error *err)
{
    if (listener->role == WEIR_ROLE_PLATFORM || (info->roles & listener->role) != 0)
        return WEIR_OK;
    log_refusal(listener, info);
    return weir_fail(err, WEIR_DENIED, "message %s (0x%04x) is not for a %s to send: refused at %s",
                     info->name, (unsigned)info->type, weir_role_name(listener->role),
                     listener->endpoint);
}
