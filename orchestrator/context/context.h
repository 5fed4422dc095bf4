/* The loop, the database, the services and the listener that every room of the orchestrator shares. A decision is
 * committed before anybody hears of it. */
#ifndef ORCHESTRATOR_CONTEXT_CONTEXT_H
#define ORCHESTRATOR_CONTEXT_CONTEXT_H

#include "core/loop/work.h"
#include "core/rpc/rpc.h"
#include "orchestrator/config/site.h"
#include "orchestrator/sql/queries.h"

enum {
    /* deadline of a request to a service; then the step begins again */
    ORCHESTRATOR_REQUEST_MS = 30000,
    ORCHESTRATOR_AGAIN_MS = 300, /* pause before a step is tried again */
    ORCHESTRATOR_POLL_MS = 50,   /* between two looks at something another process works on */
};

/* The wall clock by which triggers of live pipelines tick; now_us NULL: the system's. */
struct orchestrator_clock {
    void *owner;
    int64_t (*now_us)(void *owner);
};

/* The listener to events: committed ones in order, and progress that is not kept. */
struct orchestrator_listener {
    void *owner;
    /* `json` is one line. `pipeline` and `erasure` are 0 where they have no part. */
    void (*event)(void *owner, int64_t pipeline, int64_t erasure, const char *json);
    void (*progress)(void *owner);
    /* A pipeline has come to rest, or every erasure has. */
    void (*rest)(void *owner);
};

/* Owned by: struct orchestrator. */
struct context {
    struct weir_loop *loop;
    struct weir_db *db;
    char *data_dir;
    const char *remote; /* "tcp://HOST:PORT#KEY", as those elsewhere reach it; NULL: they do not */
    struct weir_rpc_peer *storage;
    struct weir_rpc_peer *selector;
    struct weir_rpc_peer *dispatcher;
    struct orchestrator_prices prices;
    struct orchestrator_sharing sharing;
    uint64_t cache_bytes; /* budget of the rows that are kept of samples */
    struct orchestrator_listener listener;
    struct orchestrator_clock clock;
    /* The outputs of runs, as metrics and as trigger policies read them; each on as many threads as there are
     * processors, and neither waits for the other. */
    struct weir_work_queue *measurings, *decisions;
    int64_t event_shown; /* number of the newest event the listener has seen */
    uint64_t events;     /* committed since this process began */
};

/* DATA_DIR/FOLDER/NAME in caller's memory. */
char *orchestrator_path(const struct context *context, const char *folder,
                        const char *name) WEIR_MUST_USE;

/* The site of this platform, borrowed, which pipelines are held against. */
struct orchestrator_site orchestrator_site_of(const struct context *context);

int64_t orchestrator_now_us(const struct context *context);

/* Returns true when asking again may help: the service or database is away, or slow. */
bool orchestrator_may_pass(enum weir_status status);

#endif
