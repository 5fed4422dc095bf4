/* The prices of the system file, and sums by them. Pure. */
#include "orchestrator/config/prices.h"

static const double NS_PER_HOUR = 3.6e12;
static const double GIGABYTE = 1e9;

const struct cfg_key ORCHESTRATOR_PRICE_KEYS[] = {
    CFG_TEXT(struct orchestrator_prices, currency, .fallback = "EUR",
             .doc = "currency that amounts are printed in"),
    CFG_F64(struct orchestrator_prices, cpu_hour, .fallback = "0", .max = 1e9,
            .doc = "one core for one hour"),
    CFG_F64(struct orchestrator_prices, gpu_hour, .fallback = "0", .max = 1e9,
            .doc = "one GPU slot held for one hour"),
    CFG_F64(struct orchestrator_prices, gigabyte_read, .fallback = "0", .max = 1e9,
            .doc = "10^9 bytes that workers read from files"),
    CFG_F64(struct orchestrator_prices, gigabyte_sent, .fallback = "0", .max = 1e9,
            .doc = "10^9 bytes from workers to trainers"),
    CFG_F64(struct orchestrator_prices, worker_hour, .fallback = "0", .max = 1e9,
            .doc = "one worker of the pool for one hour: sizes of the pool are weighed by it"),
    CFG_F64(struct orchestrator_prices, host_hour, .fallback = "0", .max = 1e9,
            .doc = "one worker beside the trainers for one hour"),
    CFG_F64(struct orchestrator_prices, trainer_hour, .fallback = "0", .max = 1e9,
            .doc = "one trainer with its GPUs for one hour: what waiting for batches costs"),
    CFG_END,
};

bool orchestrator_prices_are_set(const struct orchestrator_prices *prices)
{
    return prices->cpu_hour > 0 || prices->gpu_hour > 0 || prices->gigabyte_read > 0 ||
           prices->gigabyte_sent > 0;
}

double orchestrator_cpu_seconds(const struct orchestrator_cost *cost)
{
    return (double)(cost->trainer_cpu_ns + cost->worker_cpu_ns) / 1e9;
}

double orchestrator_money(const struct orchestrator_prices *prices,
                          const struct orchestrator_cost *cost)
{
    return (double)(cost->trainer_cpu_ns + cost->worker_cpu_ns) / NS_PER_HOUR * prices->cpu_hour +
           (double)cost->gpu_ns / NS_PER_HOUR * prices->gpu_hour +
           (double)cost->bytes_read / GIGABYTE * prices->gigabyte_read +
           (double)cost->bytes_sent / GIGABYTE * prices->gigabyte_sent;
}

void orchestrator_cost_json(const struct orchestrator_prices *prices,
                            const struct orchestrator_cost *cost, struct weir_buf *out)
{
    weir_buf_printf(
        out,
        "{\"cpu_seconds\":%.6f,\"trainer_cpu_seconds\":%.6f,\"worker_cpu_seconds\":%.6f,"
        "\"gpu_seconds\":%.6f,"
        "\"bytes_read\":%llu,\"bytes_sent\":%llu,\"money\":%.9g,\"currency\":\"%s\"}",
        orchestrator_cpu_seconds(cost), (double)cost->trainer_cpu_ns / 1e9,
        (double)cost->worker_cpu_ns / 1e9, (double)cost->gpu_ns / 1e9,
        (unsigned long long)cost->bytes_read, (unsigned long long)cost->bytes_sent,
        orchestrator_money(prices, cost), prices->currency);
}
