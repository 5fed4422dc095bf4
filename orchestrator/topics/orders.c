/* Senders, and orders that wait to come again. */
#include "orchestrator/topics/orders.h"

#include <stdio.h>

struct topic_sender orchestrator_topic_sender(const struct weir_request *request)
{
    const struct weir_sender *from = weir_rpc_sender(request);
    struct topic_sender sender = {.role = from->role};
    uid_t user;
    (void)snprintf(sender.tenant, sizeof(sender.tenant), "%s", from->tenant);
    if (from->name[0] != '\0')
        (void)snprintf(sender.who, sizeof(sender.who), "%s", from->name);
    else if (weir_rpc_user(request, &user))
        (void)snprintf(sender.who, sizeof(sender.who), "local uid %lu", (unsigned long)user);
    else
        (void)snprintf(sender.who, sizeof(sender.who), "local");
    return sender;
}

void orchestrator_topic_order_waits(struct topic_orders *orders, const struct weir_route *route,
                                    int64_t number)
{
    orders->at[orders->next] = (struct topic_order){*route, number};
    orders->next = (orders->next + 1) % TOPIC_ORDERS_MAX;
}

int64_t orchestrator_topic_order_again(struct topic_orders *orders, const struct weir_route *route)
{
    for (size_t i = 0; i < TOPIC_ORDERS_MAX; i++) {
        struct topic_order *order = &orders->at[i];
        int64_t number = order->number;
        if (number == 0 || !weir_route_is_of_request(&order->route, route))
            continue;
        order->number = 0;
        return number;
    }
    return 0;
}
