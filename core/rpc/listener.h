/* One bound socket of a server, and the role of those who reach it. For core/rpc alone. */
#ifndef WEIR_RPC_LISTENER_H
#define WEIR_RPC_LISTENER_H

#include "core/rpc/answered.h"
#include "core/rpc/keyring.h"
#include "core/rpc/outflow.h"
#include "core/rpc/strangers.h"

enum { WEIR_LISTENER_ENDPOINT_MAX = 512 };

struct weir_listener {
    struct weir_rpc_server *server; /* its owner */
    struct weir_loop *loop;
    uint8_t number;             /* of its routes, among the listeners of the server */
    struct weir_sender anybody; /* sender of all messages, where there are no keys of their own */
    bool is_keyed;              /* each has one */
    void *socket;
    char endpoint[WEIR_LISTENER_ENDPOINT_MAX]; /* really bound */
    char *address;                             /* the endpoint, and its key */
    struct weir_strangers *strangers;          /* NULL: no TCP */
    size_t bytes_max;                          /* of a message */
    struct weir_outflow outflow;               /* of replies; pushes are bounded by credit */
    struct weir_answered answered; /* requests of one listener cannot pass for another's */
    int64_t since_ms;              /* messages that wait at the socket came after */
    bool has_more;                 /* some were left there */
    unsigned logged;               /* refusals since `log_ms` */
    int64_t log_ms;
};

/* Binds, for a role, or (`role` 0) for those whose keys are let in. Errors are those of weir_rpc_listen(). */
enum weir_status weir_listener_open(struct weir_loop *loop, const struct weir_rpc_door *door,
                                    unsigned role, struct weir_listener **ret_listener,
                                    struct weir_error *err) WEIR_MUST_USE;
void weir_listener_close(struct weir_listener *listener);
WEIR_DEFINE_AUTO(weir_listener, weir_listener_close)

/* DENIED for a message that its sender may not send (NULL: a key that is let in no more). */
enum weir_status weir_listener_admit(const struct weir_listener *listener,
                                     const struct weir_sender *sender,
                                     const struct weir_message_info *info,
                                     struct weir_error *err) WEIR_MUST_USE;
/* True when one more refusal may be told of: whoever is refused often cannot fill a log. */
bool weir_listener_may_report(struct weir_listener *listener) WEIR_MUST_USE;

#endif
