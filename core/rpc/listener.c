/* Binding a socket of a server, and refusing what is not for those who reach it. */
#include "core/rpc/listener.h"

#include "core/base/memory.h"
#include "core/rpc/keys.h"
#include "core/rpc/socket.h"

#include <stdlib.h>
#include <string.h>
#include <zmq.h>

enum { LOGGED_MAX = 20, LOG_MS = 60 * 1000 };

/* "tcp://0.0.0.0:5800" as others reach it: with `host`, unless that is NULL. */
static char *advertised(const char *endpoint, const char *host)
{
    const char *port = strrchr(endpoint, ':');
    if (host == NULL || port == NULL)
        return weir_strdup(endpoint);
    return weir_format("tcp://%s%s", host, port);
}

static void name_endpoint(struct weir_listener *listener, const struct weir_rpc_door *door)
{
    size_t size = sizeof(listener->endpoint);
    int rc = zmq_getsockopt(listener->socket, ZMQ_LAST_ENDPOINT, listener->endpoint, &size);
    weir_require(rc == 0);
    WEIR_AUTO_FREE char *reached = advertised(listener->endpoint, door->advertise);
    listener->address = weir_keys_address(listener->socket, reached);
}

enum weir_status weir_listener_open(struct weir_loop *loop, const struct weir_rpc_door *door,
                                    unsigned role, struct weir_listener **ret_listener,
                                    struct weir_error *err)
{
    void *socket = NULL;
    const struct weir_socket_plan plan = {WEIR_SOCKET_SERVER, door->endpoint, door->pair};
    enum weir_status status = weir_socket_open(loop, &plan, &socket, err);
    if (status != WEIR_OK)
        return status;
    WEIR_AUTO(weir_listener) listener = weir_calloc(1, sizeof(*listener));
    listener->loop = loop;
    listener->anybody =
        (struct weir_sender){.role = (enum weir_role)role, .name = "", .tenant = ""};
    listener->is_keyed = door->pair != NULL;
    listener->socket = socket;
    listener->bytes_max = weir_socket_bytes_max(&plan);
    name_endpoint(listener, door);
    if (weir_keys_are_needed(listener->endpoint))
        status = weir_strangers_watch(loop, socket, listener->endpoint, listener->is_keyed,
                                      &listener->strangers, err);
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

bool weir_listener_may_report(struct weir_listener *listener)
{
    int64_t now_ms = weir_loop_now_ms(listener->loop);
    if (now_ms >= listener->log_ms + LOG_MS) {
        listener->log_ms = now_ms;
        listener->logged = 0;
    }
    return listener->logged++ < LOGGED_MAX;
}

enum weir_status weir_listener_admit(const struct weir_listener *listener,
                                     const struct weir_sender *sender,
                                     const struct weir_message_info *info, struct weir_error *err)
{
    if (sender == NULL)
        return weir_fail(err, WEIR_DENIED, "this key is not let in any more: refused at %s",
                         listener->endpoint);
    if (sender->role == WEIR_ROLE_PLATFORM || (info->roles & sender->role) != 0)
        return WEIR_OK;
    return weir_fail(err, WEIR_DENIED, "message %s (0x%04x) is not for a %s to send: refused at %s",
                     info->name, (unsigned)info->type, weir_role_name(sender->role),
                     listener->endpoint);
}
