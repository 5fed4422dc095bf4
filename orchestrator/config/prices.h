/* The cost of runs: CPU and GPU time, bytes, and money by the prices of the system file. */
#ifndef ORCHESTRATOR_CONFIG_PRICES_H
#define ORCHESTRATOR_CONFIG_PRICES_H

#include "core/config/schema.h"

struct orchestrator_prices {
    const char *currency;
    double cpu_hour;      /* of one core */
    double gpu_hour;      /* of one slot */
    double gigabyte_read; /* by workers, from files */
    double gigabyte_sent; /* from workers to trainers */
    double worker_hour;   /* of one worker of the pool */
    double host_hour;     /* of one worker beside the trainers */
    double trainer_hour;  /* of a trainer, with its GPUs */
};

struct orchestrator_cost {
    int64_t trainer_cpu_ns;
    int64_t worker_cpu_ns;
    uint64_t bytes_read;
    uint64_t bytes_sent;
    int64_t gpu_ns; /* slots held, times for how long */
};

/* The keys of the system file's `prices`. */
extern const struct cfg_key ORCHESTRATOR_PRICE_KEYS[];

/* Returns true when runs cost money: the hours of workers, hosts and trainers weigh the size of the pool alone. */
bool orchestrator_prices_are_set(const struct orchestrator_prices *prices);
double orchestrator_cpu_seconds(const struct orchestrator_cost *cost);
double orchestrator_money(const struct orchestrator_prices *prices,
                          const struct orchestrator_cost *cost);
/* Appends the JSON object that events, models and reports show. */
void orchestrator_cost_json(const struct orchestrator_prices *prices,
                            const struct orchestrator_cost *cost, struct weir_buf *out);

#endif
