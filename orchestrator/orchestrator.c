/* Opening and closing the orchestrator's state, and the one way to commit something. */
#include "orchestrator/orchestrator.h"

#include "core/base/clock.h"
#include "core/base/log.h"
#include "core/base/memory.h"
#include "core/base/rng.h"
#include "core/service/service.h"
#include "orchestrator/context/events.h"
#include "orchestrator/erasures/receipt_keys.h"
#include "orchestrator/topics/topic.h"

#include <stdlib.h>

static enum weir_status connect_peer(struct orchestrator *orch, const char *socket_dir,
                                     const char *name, struct weir_rpc_peer **ret_peer,
                                     struct weir_error *err)
{
    WEIR_AUTO_FREE char *endpoint = weir_service_endpoint(socket_dir, name);
    return weir_rpc_connect(orch->context.loop, endpoint, NULL, orch, ret_peer, err);
}

static enum weir_status connect_all(struct orchestrator *orch, const char *socket_dir,
                                    struct weir_error *err)
{
    WEIR_AUTO_FREE char *endpoint = weir_service_endpoint(socket_dir, "orchestrator");
    enum weir_status status =
        connect_peer(orch, socket_dir, "storage", &orch->context.storage, err);
    if (status == WEIR_OK)
        status = connect_peer(orch, socket_dir, "selector", &orch->context.selector, err);
    if (status == WEIR_OK)
        status = connect_peer(orch, socket_dir, "dispatcher", &orch->context.dispatcher, err);
    return status == WEIR_OK ? weir_rpc_serve(orch->context.loop, endpoint, ORCHESTRATOR_HANDLERS,
                                              orch, &orch->server, err)
                             : status;
}

static enum weir_status open_database(struct orchestrator *orch, const char *conninfo,
                                      struct weir_error *err)
{
    enum weir_status status = weir_db_open(conninfo, "orchestrator", ORCHESTRATOR_QUERIES,
                                           ORCHESTRATOR_QUERY_COUNT, &orch->context.db, err);
    if (status == WEIR_OK) {
        status = weir_db_migrate(orch->context.db, orchestrator_migrations,
                                 orchestrator_migrations_count, err);
    }
    WEIR_AUTO(weir_rows) rows = NULL;
    if (status == WEIR_OK)
        status = DB_RUN(orch->context.db, Q_event_newest, &rows, err);
    if (status == WEIR_OK)
        orch->context.event_shown = weir_rows_i64(rows, 0, 0);
    return status;
}

enum weir_status orchestrator_open(struct weir_loop *loop,
                                   const struct orchestrator_options *options,
                                   struct orchestrator **ret_orch, struct weir_error *err)
{
    WEIR_AUTO(orchestrator) orch = weir_calloc(1, sizeof *orch);
    orch->context.loop = loop;
    orch->context.data_dir = weir_strdup(options->data_dir);
    orch->context.prices = options->prices;
    orch->runs.context = orch->evaluators.context = orch->pipelines.context = &orch->context;
    orch->evaluators.runs = orch->pipelines.runs = &orch->runs;
    orch->pipelines.evaluators = &orch->evaluators;
    orch->runs.trainers = options->trainers;
    orch->context.listener = options->listener;
    orch->context.clock = options->clock;
    orch->runs.sharing = options->sharing;
    orch->pipelines.budgets = options->budgets;
    orch->runs.arbiter = arbiter_new(options->sharing.trainers, options->sharing.gpus);
    orch->runs.watch = run_watch_new(loop, &orch->runs.trainers);
    orch->pipelines.are_held = options->hold;
    orch->session = weir_random_u64();
    orch->started_ms = weir_now_ms();
    enum weir_status status = open_database(orch, options->postgres, err);
    if (status == WEIR_OK)
        status = orchestrator_receipt_keys_open(&orch->context, options->new_receipt_key, err);
    if (status == WEIR_OK)
        status = connect_all(orch, options->socket_dir, err);
    if (status == WEIR_OK)
        status = orchestrator_runs_recall(&orch->runs, err);
    if (status == WEIR_OK)
        status = orchestrator_pipelines_load(&orch->pipelines, err);
    if (status == WEIR_OK)
        status =
            orchestrator_erasures_load(&orch->pipelines, options->cluster, &orch->erasures, err);
    if (status == WEIR_OK)
        *ret_orch = WEIR_TAKE(orch);
    return status;
}

void orchestrator_close(struct orchestrator *orch)
{
    if (orch == NULL)
        return;
    /* No round of the loop may come between: calls own what the erasures that wait to be noted point to. */
    orchestrator_topics_free(orch);
    orchestrator_erasures_free(orch->erasures);
    orchestrator_pipelines_free(&orch->pipelines);
    orchestrator_runs_free(&orch->runs);
    arbiter_free(orch->runs.arbiter);
    run_watch_free(orch->runs.watch);
    weir_rpc_server_close(orch->server);
    weir_rpc_peer_close(orch->context.storage);
    weir_rpc_peer_close(orch->context.selector);
    weir_rpc_peer_close(orch->context.dispatcher);
    weir_db_close(orch->context.db);
    free(orch->context.data_dir);
    free(orch);
}
