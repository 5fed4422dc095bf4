/* Senders of requests, and the orders that are in the audit log but have not ended. */
#ifndef ORCHESTRATOR_TOPICS_ORDERS_H
#define ORCHESTRATOR_TOPICS_ORDERS_H

#include "core/rpc/rpc.h"
#include "orchestrator/audit/audit.h"
#include "orchestrator/topics/access.h"

enum { TOPIC_ORDERS_MAX = 64 };

/* The sender of a request, for as long as it is open. */
struct topic_sender {
    enum weir_role role;
    char who[AUDIT_WHO_MAX]; /* "alice", "local uid 1000" */
    char tenant[WEIR_KEYRING_WORD_MAX + 1];
};
struct topic_sender orchestrator_topic_sender(const struct weir_request *request);

/* Orders that were refused as UNAVAILABLE, and so come again under the same route: they do not begin twice. When there
 * is no place left, the key with most of them loses its oldest. */
struct topic_orders {
    struct topic_order {
        struct weir_route route;
        uint64_t key;   /* of the sender; 0: it is on this host */
        int64_t number; /* grows from order to order; 0: none */
    } at[TOPIC_ORDERS_MAX];
};
void orchestrator_topic_order_waits(struct topic_orders *orders, const struct topic_order *order);
/* Takes it out; 0: it does not wait. */
int64_t orchestrator_topic_order_again(struct topic_orders *orders, const struct weir_route *route);

#endif
