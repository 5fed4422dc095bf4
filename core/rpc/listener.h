/* One bound socket of a server, and the role of those who reach it. For core/rpc alone. */
#ifndef WEIR_RPC_LISTENER_H
#define WEIR_RPC_LISTENER_H

#include "core/rpc/answered.h"
#include "core/rpc/outflow.h"
#include "core/rpc/strangers.h"

enum { WEIR_LISTENER_ENDPOINT_MAX = 512 };

struct weir_listener {
    struct weir_rpc_server *server; /* its owner */
    struct weir_loop *loop;
    uint8_t number; /* of its routes, among the listeners of the server */
    enum weir_role role;
    void *socket;
    char endpoint[WEIR_LISTENER_ENDPOINT_MAX]; /* really bound */
    char *address;                             /* the endpoint, and its key */
    struct weir_strangers *strangers;          /* NULL: no TCP */
    size_t bytes_max;                          /* of a message */
    struct weir_outflow outflow;               /* of replies; pushes are bounded by credit */
    struct weir_answered answered; /* requests of one listener cannot pass for another's */
    unsigned logged;               /* refusals since `log_ms` */
    int64_t log_ms;
};

/* Binds. Errors are those of weir_rpc_listen(). */
enum weir_status weir_listener_open(struct weir_loop *loop, const char *endpoint,
                                    enum weir_role role, struct weir_listener **ret_listener,
                                    struct weir_error *err) WEIR_MUST_USE;
void weir_listener_close(struct weir_listener *listener);
WEIR_DEFINE_AUTO(weir_listener, weir_listener_close)

/* DENIED for a message that its role may not send: logged, up to a bound, which whoever sends many cannot pass. */
enum weir_status weir_listener_admit(struct weir_listener *listener,
                                     const struct weir_message_info *info,
                                     struct weir_error *err) WEIR_MUST_USE;

#endif
