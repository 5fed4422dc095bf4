/* Rows that workers keep of samples: what came of them, by the dispatcher's books. */
#include "orchestrator/monitoring/parts.h"

static uint64_t sum(struct weir_u64s column)
{
    uint64_t total = 0;
    for (size_t i = 0; i < column.count; i++)
        total += column.at[i];
    return total;
}

static void on_uses(void *owner, const struct weir_reply *reply, const struct weir_error *err)
{
    struct monitor_part *part = owner;
    const struct msg_cache_is *uses = reply != NULL ? reply->message : NULL;
    (void)err;
    if (uses != NULL) {
        FIGURE(part->draft, cache_hits, sum(uses->hits), NULL);
        FIGURE(part->draft, cache_misses, sum(uses->misses), NULL);
        FIGURE(part->draft, cache_damaged, sum(uses->damaged), NULL);
    }
    orchestrator_monitor_part_end(part, uses != NULL, uses != NULL);
}

static void begin(struct monitor_part *part)
{
    weir_rpc_call(part->from->context->dispatcher, MSG_cache_request, NULL, MONITOR_REQUEST_MS,
                  on_uses, part);
}

static void forget(struct monitor_part *part)
{
    weir_rpc_forget(part->from->context->dispatcher, part);
}

const struct monitor_source ORCHESTRATOR_MONITOR_CACHE = {
    .service = "cache",
    .fresh_ms = MONITOR_CACHE_FRESH_MS,
    .begin = begin,
    .forget = forget,
};
