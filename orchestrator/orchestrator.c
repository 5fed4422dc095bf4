/* Opening and closing the orchestrator's state, and the one way to commit something. */
#include "orchestrator/orchestrator.h"

#include "core/base/clock.h"
#include "core/base/fault.h"
#include "core/base/log.h"
#include "core/base/memory.h"
#include "core/base/rng.h"
#include "core/service/service.h"
#include "orchestrator/erasures/erasure.h"
#include "orchestrator/erasures/receipt_keys.h"
#include "orchestrator/erasures/sealing.h"
#include "orchestrator/events.h"
#include "orchestrator/pipeline/pipeline.h"
#include "orchestrator/runs/run.h"
#include "orchestrator/runs/run_watch.h"
#include "orchestrator/topics/topic.h"

#include <stdlib.h>

static enum weir_status connect_peer(struct orchestrator *orch, const char *socket_dir,
                                     const char *name, struct weir_rpc_peer **ret_peer,
                                     struct weir_error *err)
{
    WEIR_AUTO_FREE char *endpoint = weir_service_endpoint(socket_dir, name);
    return weir_rpc_connect(orch->loop, endpoint, NULL, orch, ret_peer, err);
}

static enum weir_status connect_all(struct orchestrator *orch, const char *socket_dir,
                                    struct weir_error *err)
{
    WEIR_AUTO_FREE char *endpoint = weir_service_endpoint(socket_dir, "orchestrator");
    enum weir_status status = connect_peer(orch, socket_dir, "storage", &orch->storage, err);
    if (status == WEIR_OK)
        status = connect_peer(orch, socket_dir, "selector", &orch->selector, err);
    if (status == WEIR_OK)
        status = connect_peer(orch, socket_dir, "dispatcher", &orch->dispatcher, err);
    return status == WEIR_OK ? weir_rpc_serve(orch->loop, endpoint, ORCHESTRATOR_HANDLERS, orch,
                                              &orch->server, err)
                             : status;
}

static enum weir_status open_database(struct orchestrator *orch, const char *conninfo,
                                      struct weir_error *err)
{
    enum weir_status status = weir_db_open(conninfo, "orchestrator", ORCHESTRATOR_QUERIES,
                                           ORCHESTRATOR_QUERY_COUNT, &orch->db, err);
    if (status == WEIR_OK) {
        status =
            weir_db_migrate(orch->db, orchestrator_migrations, orchestrator_migrations_count, err);
    }
    WEIR_AUTO(weir_rows) rows = NULL;
    if (status == WEIR_OK)
        status = DB_RUN(orch->db, Q_event_newest, &rows, err);
    if (status == WEIR_OK)
        orch->event_shown = weir_rows_i64(rows, 0, 0);
    return status;
}

enum weir_status orchestrator_open(struct weir_loop *loop,
                                   const struct orchestrator_options *options,
                                   struct orchestrator **ret_orch, struct weir_error *err)
{
    WEIR_AUTO(orchestrator) orch = weir_calloc(1, sizeof *orch);
    orch->loop = loop;
    orch->data_dir = weir_strdup(options->data_dir);
    orch->cluster = options->cluster != NULL ? weir_strdup(options->cluster) : NULL;
    orch->prices = options->prices;
    orch->trainers = options->trainers;
    orch->listener = options->listener;
    orch->clock = options->clock;
    orch->sharing = options->sharing;
    orch->budgets = options->budgets;
    orch->arbiter = arbiter_new(options->sharing.trainers, options->sharing.gpus);
    orch->watch = run_watch_new(orch);
    orch->hold = options->hold;
    orch->session = weir_random_u64();
    orch->started_ms = weir_now_ms();
    enum weir_status status = open_database(orch, options->postgres, err);
    if (status == WEIR_OK)
        status = orchestrator_receipt_keys_open(orch, options->new_receipt_key, err);
    if (status == WEIR_OK)
        status = connect_all(orch, options->socket_dir, err);
    if (status == WEIR_OK)
        status = orchestrator_runs_recall(orch, err);
    if (status == WEIR_OK)
        status = orchestrator_pipelines_load(orch, err);
    if (status == WEIR_OK)
        status = orchestrator_erasures_load(orch, err);
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
    orchestrator_seal_free(orch);
    orchestrator_erasures_free(orch);
    orchestrator_pipelines_free(orch);
    orchestrator_runs_free(orch);
    arbiter_free(orch->arbiter);
    run_watch_free(orch->watch);
    weir_rpc_server_close(orch->server);
    weir_rpc_peer_close(orch->storage);
    weir_rpc_peer_close(orch->selector);
    weir_rpc_peer_close(orch->dispatcher);
    weir_db_close(orch->db);
    free(orch->data_dir);
    free(orch->cluster);
    free(orch);
}

enum weir_status orchestrator_commit(struct orchestrator *orch, orchestrator_effect_fn *effect,
                                     void *subject, const void *what, struct weir_error *err)
{
    enum weir_status status = weir_db_begin(orch->db, err);
    if (status != WEIR_OK)
        return status;
    if (effect != NULL)
        status = effect(subject, what, err);
    if (status == WEIR_OK && weir_fault("orchestrator.commit"))
        status = weir_fail(err, WEIR_UNAVAILABLE, "fault orchestrator.commit");
    if (status != WEIR_OK) {
        weir_db_rollback(orch->db);
        return status;
    }
    status = weir_db_commit(orch->db, err);
    if (status == WEIR_OK)
        orchestrator_events_show(orch);
    return status;
}

char *orchestrator_path(const struct orchestrator *orch, const char *folder, const char *name)
{
    return weir_format("%s/%s/%s", orch->data_dir, folder, name);
}

void orchestrator_look_again(struct orchestrator *orch)
{
    orchestrator_pipelines_look_again(orch);
    orchestrator_erasures_look_again(orch);
}

int64_t orchestrator_now_us(const struct orchestrator *orch)
{
    return orch->clock.now_us != NULL ? orch->clock.now_us(orch->clock.owner) : weir_now_wall_us();
}

bool orchestrator_may_pass(enum weir_status status)
{
    return status == WEIR_UNAVAILABLE || status == WEIR_TIMEOUT || status == WEIR_STALE;
}
