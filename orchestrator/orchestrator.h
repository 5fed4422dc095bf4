/* The orchestrator's state: one database connection, one peer per service, the pipelines and erasures in work. One
 * thread, one loop. Whatever it decides is committed in Postgres before anybody hears of it, so that a killed
 * orchestrator goes on where it was. */
#ifndef ORCHESTRATOR_ORCHESTRATOR_H
#define ORCHESTRATOR_ORCHESTRATOR_H

#include "orchestrator/comparing/comparisons.h"
#include "orchestrator/context/context.h"
#include "orchestrator/exports/exports.h"
#include "orchestrator/pool/pool.h"
#include "orchestrator/topics/topic.h"
#include "orchestrator/webhooks/webhooks.h"

struct listen_address;
struct receipt_key_order;

struct orchestrator_options {
    const char *data_dir;
    const char *socket_dir;
    const struct listen_address *remote; /* for those elsewhere; NULL: they are not listened to */
    const char *postgres;
    const char *cluster; /* its folder; NULL: the server is not Weir's own */
    struct orchestrator_prices prices;
    uint64_t cache_bytes; /* of rows that are kept of samples */
    struct orchestrator_trainers trainers;
    const struct orchestrator_crew *crew; /* of workers; NULL: somebody else starts them */
    struct orchestrator_workers workers;  /* bounds of their number */
    struct orchestrator_listener listener;
    struct orchestrator_clock clock;
    struct orchestrator_sharing sharing;
    const struct weir_yaml_node *budgets;  /* of the system file; NULL: none */
    const struct weir_yaml_node *webhooks; /* of the system file; NULL: none */
    bool hold;    /* leave unfinished pipelines as they are; erasures go on */
    bool digests; /* keep those of all batches */
    bool explain; /* tell the plan of each training */
    struct receipt_key_order *new_receipt_key; /* NULL: none */
};

struct orchestrator {
    struct context context;
    struct pool *pool; /* NULL: workers are somebody else's */
    struct runs runs;
    struct evaluators evaluators;
    struct pipelines pipelines;
    struct comparisons comparisons;
    struct exports exports;
    struct erasures *erasures;
    struct webhooks *webhooks;
    struct keys *keys;
    struct tokens *tokens;
    struct audit *audit;
    struct topics topics;
    uint64_t session;
};

/* Connects, migrates, serves `orchestrator.sock`, and takes up what a former process left unfinished. */
enum weir_status orchestrator_open(struct weir_loop *loop,
                                   const struct orchestrator_options *options,
                                   struct orchestrator **ret_orch,
                                   struct weir_error *err) WEIR_MUST_USE;
void orchestrator_close(struct orchestrator *orch);
WEIR_DEFINE_AUTO(orchestrator, orchestrator_close)

/* The table of incoming messages. */
extern const struct weir_rpc_handler ORCHESTRATOR_HANDLERS[];

#endif
