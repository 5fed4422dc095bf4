/* The rooms that figures come from. */
#ifndef ORCHESTRATOR_MONITORING_ORIGINS_H
#define ORCHESTRATOR_MONITORING_ORIGINS_H

#include "orchestrator/pipeline/pipeline.h"

/* Borrowed. */
struct monitor_origins {
    struct context *context;
    struct runs *runs;
    struct pipelines *pipelines;
    const struct weir_rpc_server *server; /* of the orchestrator */
    const struct pool *pool;              /* NULL: workers are somebody else's */
    const char *postgres;                 /* conninfo */
    int64_t started_ms;                   /* of the orchestrator's work */
};

#endif
