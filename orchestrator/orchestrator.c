/* Opening and closing the orchestrator's state, and the one way to commit something. */
#include "orchestrator/orchestrator.h"

#include "core/base/clock.h"
#include "core/base/fault.h"
#include "core/base/memory.h"
#include "core/base/rng.h"
#include "core/service/service.h"
#include "orchestrator/context/events.h"
#include "orchestrator/erasures/receipt_keys.h"
#include "orchestrator/values/listen_address.h"

#include <stdlib.h>
#include <unistd.h>

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
    enum weir_status status =
        connect_peer(orch, socket_dir, "storage", &orch->context.storage, err);
    if (status == WEIR_OK)
        status = connect_peer(orch, socket_dir, "selector", &orch->context.selector, err);
    if (status == WEIR_OK)
        status = connect_peer(orch, socket_dir, "dispatcher", &orch->context.dispatcher, err);
    return status;
}

static enum weir_status listen_to_remote(struct orchestrator *orch,
                                         const struct listen_address *remote,
                                         struct weir_error *err)
{
    WEIR_AUTO_FREE char *endpoint = orchestrator_listen_address_of(remote, "orchestrator");
    enum weir_status status = weir_service_listen_remote(
        orch->topics.server, orch->context.data_dir, endpoint, remote->advertise, err);
    if (status == WEIR_OK)
        orch->context.remote = weir_rpc_keyed_address(orch->topics.server);
    return status;
}

static enum weir_status listen_to_all(struct orchestrator *orch,
                                      const struct orchestrator_options *options,
                                      struct weir_error *err)
{
    static const enum weir_role ROLES[] = {WEIR_ROLE_PLATFORM, WEIR_ROLE_TRAINER};
    enum weir_status status = WEIR_OK;
    orch->topics.server = weir_rpc_server_new(orch->context.loop, ORCHESTRATOR_HANDLERS, orch);
    for (size_t i = 0; status == WEIR_OK && i < WEIR_COUNT(ROLES); i++)
        status = weir_service_listen(orch->topics.server, options->socket_dir, "orchestrator",
                                     ROLES[i], err);
    if (status == WEIR_OK && options->remote != NULL)
        status = listen_to_remote(orch, options->remote, err);
    return status;
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
        orch->context.event_shown = weir_rows_i64(rows, 0, "number");
    return status;
}

static enum weir_status open_pool(struct orchestrator *orch,
                                  const struct orchestrator_options *options,
                                  struct weir_error *err)
{
    enum weir_status status = orchestrator_pool_open(&orch->context, orch->keys, &options->workers,
                                                     options->crew, &orch->pool, err);
    orch->runs.pool = orch->topics.pool = orch->pool;
    return status;
}

/* Each room is given the rooms below it. */
static void furnish(struct orchestrator *orch, const struct orchestrator_options *options)
{
    orch->runs = (struct runs){
        .context = &orch->context,
        .trainers = options->trainers,
        .keep_digests = options->digests,
        .explains = options->explain,
        .arbiter = orchestrator_arbiter_new(options->sharing.trainers, options->sharing.gpus),
        .watch = orchestrator_run_watch_new(orch->context.loop, &orch->runs.trainers),
        .warm = orchestrator_warm_new(&orch->runs),
        .is_at_trigger = orchestrator_pipeline_is_at_trigger,
        .pipelines = &orch->pipelines,
    };
    size_t processors = (size_t)sysconf(_SC_NPROCESSORS_ONLN);
    orch->context.measurings = weir_work_queue_new(orch->context.loop, processors);
    orch->context.decisions = weir_work_queue_new(orch->context.loop, processors);
    orch->evaluators = (struct evaluators){.context = &orch->context, .runs = &orch->runs};
    orch->pipelines = (struct pipelines){
        .context = &orch->context,
        .runs = &orch->runs,
        .evaluators = &orch->evaluators,
        .budgets = options->budgets,
        .are_held = options->hold,
    };
    orch->comparisons =
        (struct comparisons){.context = &orch->context, .pipelines = &orch->pipelines};
    orch->exports = (struct exports){
        .context = &orch->context, .runs = &orch->runs, .pipelines = &orch->pipelines};
    orch->topics = (struct topics){
        .context = &orch->context,
        .runs = &orch->runs,
        .evaluators = &orch->evaluators,
        .pipelines = &orch->pipelines,
        .comparisons = &orch->comparisons,
        .exports = &orch->exports,
        .started_ms = weir_now_ms(),
    };
}

static void on_refusal(void *owner, const struct weir_refusal *refusal)
{
    const struct orchestrator *orch = owner;
    const struct weir_sender *sender = refusal->sender;
    WEIR_AUTO_FREE char *stranger = weir_format(
        "key %s at %s", refusal->public[0] == '\0' ? "(none)" : refusal->public, refusal->where);
    bool has_name = sender != NULL && sender->name[0] != '\0';
    orchestrator_audit_refuse(orch->audit, has_name ? sender->name : stranger,
                              sender != NULL ? weir_role_name(sender->role) : "", refusal->message);
}

static enum weir_status begin_change(void *owner, const char *what, const char *name,
                                     int64_t *ret_order, struct weir_error *err)
{
    const struct orchestrator *orch = owner;
    json_t *about = json_pack("{ss}", "name", name);
    const struct audit_order order = {"platform", "platform", what, about};
    enum weir_status status = orchestrator_audit_begin(orch->audit, &order, ret_order, err);
    json_decref(about);
    return status;
}

static void end_change(void *owner, int64_t order, enum weir_status outcome)
{
    const struct orchestrator *orch = owner;
    orchestrator_audit_end(orch->audit, order, outcome, NULL);
}

/* Before anybody is let in. */
static enum weir_status open_keys(struct orchestrator *orch, struct weir_error *err)
{
    enum weir_status status = orchestrator_audit_open(&orch->context, &orch->audit, err);
    if (status == WEIR_OK)
        status = orchestrator_keys_open(&orch->context, orch->topics.server, &orch->keys, err);
    if (status == WEIR_OK)
        status = orchestrator_tokens_open(&orch->context, &orch->tokens, err);
    if (status != WEIR_OK)
        return status;
    orch->topics.audit = orch->audit;
    orch->topics.keys = orch->keys;
    orch->topics.tokens = orch->tokens;
    orchestrator_keys_log_to(orch->keys, &(struct keys_log){orch, begin_change, end_change});
    weir_rpc_on_refusal(orch->topics.server, on_refusal, orch);
    return WEIR_OK;
}

/* Opens what others are reached by, and reach it by: the database, the services, listeners with their keys, workers. */
static enum weir_status open_surroundings(struct orchestrator *orch,
                                          const struct orchestrator_options *options,
                                          struct weir_error *err)
{
    struct receipt_key_order none = {.is_given = false};
    struct receipt_key_order *order =
        options->new_receipt_key != NULL ? options->new_receipt_key : &none;
    enum weir_status status = open_database(orch, options->postgres, err);
    if (status == WEIR_OK)
        status = orchestrator_receipt_keys_open(&orch->context, order, err);
    if (status == WEIR_OK && weir_fault("orchestrator.open"))
        status = weir_fail(err, WEIR_UNAVAILABLE, "fault orchestrator.open");
    if (status == WEIR_OK)
        status = connect_all(orch, options->socket_dir, err);
    if (status == WEIR_OK)
        status = listen_to_all(orch, options, err);
    if (status == WEIR_OK)
        status = open_keys(orch, err);
    if (status == WEIR_OK && options->crew != NULL)
        status = open_pool(orch, options, err);
    return status;
}

/* Takes up everything that was going on when the orchestrator ended. */
static enum weir_status take_up(struct orchestrator *orch,
                                const struct orchestrator_options *options, struct weir_error *err)
{
    enum weir_status status = orchestrator_runs_recall(&orch->runs, err);
    if (status == WEIR_OK)
        status = orchestrator_runs_sweep(&orch->runs, err);
    if (status == WEIR_OK)
        status = orchestrator_pipelines_load(&orch->pipelines, err);
    if (status == WEIR_OK)
        status = orchestrator_comparisons_load(&orch->comparisons, err);
    if (status == WEIR_OK && !options->hold)
        status = orchestrator_exports_load(&orch->exports, err);
    if (status == WEIR_OK)
        status =
            orchestrator_erasures_load(&orch->pipelines, options->cluster, &orch->erasures, err);
    if (status == WEIR_OK)
        status =
            orchestrator_webhooks_open(&orch->context, options->webhooks, &orch->webhooks, err);
    orch->topics.erasures = orch->erasures;
    orch->topics.webhooks = orch->webhooks;
    return status;
}

enum weir_status orchestrator_open(struct weir_loop *loop,
                                   const struct orchestrator_options *options,
                                   struct orchestrator **ret_orch, struct weir_error *err)
{
    WEIR_AUTO(orchestrator) orch = weir_calloc(1, sizeof(*orch));
    orch->session = weir_random_u64();
    orch->context = (struct context){
        .loop = loop,
        .data_dir = weir_strdup(options->data_dir),
        .prices = options->prices,
        .sharing = options->sharing,
        .cache_bytes = options->cache_bytes,
        .listener = options->listener,
        .clock = options->clock,
    };
    furnish(orch, options);
    enum weir_status status = open_surroundings(orch, options, err);
    if (status == WEIR_OK)
        status = take_up(orch, options, err);
    if (status == WEIR_OK)
        *ret_orch = WEIR_TAKE(orch);
    return status;
}

void orchestrator_close(struct orchestrator *orch)
{
    if (orch == NULL)
        return;
    /* No round of the loop may come between: calls own what the erasures that wait to be noted point to. */
    orchestrator_topics_free(&orch->topics);
    orchestrator_webhooks_close(orch->webhooks);
    orchestrator_erasures_free(orch->erasures);
    orchestrator_exports_free(&orch->exports);
    orchestrator_comparisons_free(&orch->comparisons);
    orchestrator_pipelines_free(&orch->pipelines);
    orchestrator_runs_free(&orch->runs);
    orchestrator_arbiter_free(orch->runs.arbiter);
    orchestrator_warm_free(orch->runs.warm);
    orchestrator_run_watch_free(orch->runs.watch);
    orchestrator_pool_free(orch->pool);
    orchestrator_keys_close(orch->keys);
    orchestrator_tokens_close(orch->tokens);
    orchestrator_audit_close(orch->audit);
    weir_rpc_server_close(orch->topics.server);
    weir_rpc_peer_close(orch->context.storage);
    weir_rpc_peer_close(orch->context.selector);
    weir_rpc_peer_close(orch->context.dispatcher);
    weir_db_close(orch->context.db);
    free(orch->context.data_dir);
    free(orch);
}
