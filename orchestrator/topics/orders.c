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

static size_t count_of(const struct topic_orders *orders, uint64_t key)
{
    size_t count = 0;
    for (size_t i = 0; i < TOPIC_ORDERS_MAX; i++)
        count += orders->at[i].number != 0 && orders->at[i].key == key;
    return count;
}

/* Returns a free place, or the oldest order of the key that has most, the oldest of all where several have as many. */
static struct topic_order *place_of_next(struct topic_orders *orders)
{
    struct topic_order *found = NULL;
    size_t most = 0;
    for (size_t i = 0; i < TOPIC_ORDERS_MAX; i++) {
        struct topic_order *order = &orders->at[i];
        size_t count = order->number != 0 ? count_of(orders, order->key) : 0;
        if (count == 0)
            return order;
        if (count < most || (count == most && order->number > found->number))
            continue;
        most = count;
        found = order;
    }
    return found;
}

void orchestrator_topic_order_waits(struct topic_orders *orders, const struct topic_order *order)
{
    *place_of_next(orders) = *order;
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
