/* The services: whether they answer. */
#include "orchestrator/monitoring/parts.h"

#define MS_PER_SECOND 1e3
#define NS_PER_SECOND 1e9

static const char *const SERVICES[] = {"storage", "selector", "dispatcher"};

/* A request to one of them. */
struct health_call {
    struct monitor_part *part;
    const char *service;
};

struct health {
    struct health_call calls[WEIR_COUNT(SERVICES)];
    size_t open;
    bool are_all_up;
};

static struct weir_rpc_peer *peer_of(const struct monitor_part *part, size_t service)
{
    const struct context *context = part->from->context;
    struct weir_rpc_peer *const peers[] = {context->storage, context->selector,
                                           context->dispatcher};
    return peers[service];
}

static void on_health(void *owner, const struct weir_reply *reply, const struct weir_error *err)
{
    const struct health_call *call = owner;
    struct monitor_part *part = call->part;
    struct health *health = part->state;
    const struct msg_health_is *is = reply != NULL ? reply->message : NULL;
    (void)err;
    FIGURE(part->draft, service_up, is != NULL, call->service);
    if (is != NULL) {
        FIGURE(part->draft, service_uptime, (double)is->up_ms / MS_PER_SECOND, call->service);
        FIGURE(part->draft, service_cpu, (double)is->cpu_ns / NS_PER_SECOND, call->service);
        FIGURE(part->draft, service_turn, (double)is->longest_turn_ns / NS_PER_SECOND,
               call->service);
        FIGURE(part->draft, service_turned_away, is->turned_away, call->service);
        FIGURE(part->draft, service_strangers, is->strangers, call->service);
    }
    health->are_all_up = health->are_all_up && is != NULL;
    if (--health->open == 0)
        orchestrator_monitor_part_end(part, true, health->are_all_up);
}

static void begin(struct monitor_part *part)
{
    struct health *health = part->state;
    health->are_all_up = true;
    health->open = WEIR_COUNT(SERVICES);
    for (size_t i = 0; i < WEIR_COUNT(SERVICES); i++) {
        health->calls[i] = (struct health_call){.part = part, .service = SERVICES[i]};
        weir_rpc_call(peer_of(part, i), MSG_health, NULL, MONITOR_REQUEST_MS, on_health,
                      &health->calls[i]);
    }
}

static void forget(struct monitor_part *part)
{
    const struct health *health = part->state;
    for (size_t i = 0; i < WEIR_COUNT(SERVICES); i++)
        weir_rpc_forget(peer_of(part, i), &health->calls[i]);
}

const struct monitor_source ORCHESTRATOR_MONITOR_HEALTH = {
    .fresh_ms = MONITOR_FRESH_MS,
    .state_size = sizeof(struct health),
    .begin = begin,
    .forget = forget,
};
