/* A worker's state, its clock, and what consumers tell it. */
#include "preprocess/worker/worker.h"

#include "core/base/file.h"
#include "core/base/log.h"
#include "core/base/memory.h"
#include "core/base/rng.h"
#include "core/service/programs.h"
#include "preprocess/operators/exec/strays.h"
#include "preprocess/worker/beat.h"
#include "preprocess/worker/hold.h"
#include "preprocess/worker/jobs.h"
#include "preprocess/worker/pump.h"
#include "preprocess/worker/sharing.h"
#include "preprocess/worker/tasks.h"
#include "preprocess/worker/wipe.h"

#include <stdlib.h>
#include <string.h>

enum {
    SCRATCH_MODE = 0700,
    FAREWELL_MS = 20, /* at most, for the last words to leave the sockets */
    FULL_LOG_MS = 60 * 1000,
};

static void on_tick(void *owner)
{
    struct worker *worker = owner;
    int64_t now_ms = weir_loop_now_ms(worker->loop);
    preprocess_flow_expire(&worker->flow, now_ms);
    preprocess_worker_jobs_expire(worker, now_ms);
    preprocess_worker_free_discarded(worker);
    preprocess_sharing_sweep(worker, now_ms);
    preprocess_worker_wipe(worker);
    preprocess_worker_hold(worker);
    preprocess_worker_prepare(worker);
    preprocess_worker_beat(worker);
    preprocess_worker_pump_soon(worker);
    preprocess_kept_step(worker->kept, now_ms);
}

/* Every credit names all of them; what was used already cannot be claimed again. */
static void keep_loans(struct worker_loans *loans, const struct msg_credit *credit)
{
    size_t count = credit->loans.size / WEIR_LOAN_BYTES;
    loans->count = count < WEIR_BATCH_LOANS_MAX ? count : WEIR_BATCH_LOANS_MAX;
    if (loans->count > 0)
        memcpy(loans->at, credit->loans.at, loans->count * WEIR_LOAN_BYTES);
}

/* Logs it, but not for each of many credits. */
static void say_ignored(struct worker *worker)
{
    int64_t now_ms = weir_loop_now_ms(worker->loop);
    if (now_ms < worker->full_log_ms)
        return;
    worker->full_log_ms = now_ms + FULL_LOG_MS;
    weir_log(WEIR_LOG_WARN,
             "no room for another consumer, or its session is another key's: ignoring its credit",
             "max=%d", WORKER_CONSUMERS_MAX);
}

static void on_credit(void *state, struct weir_request *request)
{
    struct worker *worker = state;
    const struct msg_credit *credit = request->message;
    int slot = preprocess_flow_credit(&worker->flow, credit, weir_rpc_quota_key(request),
                                      weir_loop_now_ms(worker->loop));
    if (slot < 0) {
        say_ignored(worker);
        return;
    }
    worker->routes[slot] = request->route;
    keep_loans(&worker->loans[slot], credit);
    preprocess_worker_job_met(worker, credit->job);
    /* A consumer that nothing is made for: there may be groups to lease, do not wait for the beat. */
    if (!preprocess_flow_serves(&worker->flow, (size_t)slot))
        worker->beat_due = true;
    preprocess_worker_pump_soon(worker);
}

const struct weir_rpc_handler PREPROCESS_WORKER_HANDLERS[] = {
    WEIR_ON(credit, on_credit),
    {MSG_none, NULL},
};

static void on_hint(void *state, struct weir_request *request)
{
    struct worker *worker = state;
    const struct msg_worker_hint *hint = request->message;
    if (hint->early) {
        preprocess_worker_job_expect(worker, hint->job);
        return;
    }
    worker->beat_due = true; /* a beat brings the leases of all jobs */
    preprocess_worker_pump_soon(worker);
}

static const struct weir_rpc_handler DISPATCHER_HINTS[] = {
    WEIR_ON(worker_hint, on_hint),
    {MSG_none, NULL},
};

static const struct weir_rpc_handler STORAGE_HINTS[] = {
    WEIR_ON(erased, preprocess_worker_on_erased),
    {MSG_none, NULL},
};

/* A worker elsewhere does not see the platform's sets: it fetches them into its own directory. */
static enum weir_status open_sets(struct worker *worker, const struct weir_service_options *options,
                                  struct weir_error *err)
{
    WEIR_AUTO_FREE char *folder = weir_format("%s/fetched/%s", options->data_dir, options->name);
    enum weir_status status = weir_service_connect(options, "selector", worker->loop, NULL, worker,
                                                   &worker->selector, err);
    if (status == WEIR_OK)
        status = preprocess_sets_open(folder, worker->selector, preprocess_worker_jobs_go_on,
                                      worker, &worker->sets, err);
    return status;
}

/* Opens ways of its own, for a worker elsewhere, to objects and sets. */
static enum weir_status open_elsewhere(struct worker *worker,
                                       const struct weir_service_options *options,
                                       struct weir_error *err)
{
    worker->objects = preprocess_objects_new(worker->loop);
    return open_sets(worker, options, err);
}

static enum weir_status connect_peers(struct worker *worker,
                                      const struct weir_service_options *options,
                                      struct weir_error *err)
{
    enum weir_status status = weir_service_connect(
        options, "dispatcher", worker->loop, DISPATCHER_HINTS, worker, &worker->dispatcher, err);
    if (status == WEIR_OK)
        status = weir_service_connect(options, "storage", worker->loop, STORAGE_HINTS, worker,
                                      &worker->storage, err);
    if (status == WEIR_OK && options->key != NULL)
        status = open_elsewhere(worker, options, err);
    if (options->key != NULL && !weir_programs_are_told())
        weir_programs_hand_on(NULL); /* nobody has said what may be run here */
    if (status == WEIR_OK)
        worker->link.leaves_host = weir_rpc_leaves_host(weir_rpc_peer_endpoint(worker->storage));
    return status;
}

/* Workers of a host share the list; one elsewhere keeps it in its own directory. */
static enum weir_status open_crashes(struct worker *worker,
                                     const struct weir_service_options *options,
                                     struct weir_error *err)
{
    const char *folder = options->key != NULL ? options->data_dir : options->socket_dir;
    WEIR_AUTO_FREE char *path = weir_format("%s/crashes", folder);
    enum weir_status status = WEIR_OK;
    if (options->key != NULL)
        status = weir_make_directories(folder, SCRATCH_MODE, err);
    if (status == WEIR_OK)
        status = preprocess_crashes_open(path, worker->name, preprocess_crashes_oom_kills(),
                                         &worker->crashes, err);
    if (status != WEIR_LIMIT)
        return status;
    weir_log(WEIR_LOG_WARN, "samples that crash workers are not listed", "reason=\"%s\"",
             err->text); /* a full disk is no reason not to work */
    return WEIR_OK;
}

/* Reads the name of a compression, which `option` gives; NULL is none. */
static enum weir_status read_compression(const char *option, const char *name,
                                         enum weir_compression *ret_how, struct weir_error *err)
{
    for (int how = 0; WEIR_COMPRESSIONS[how] != NULL; how++) {
        *ret_how = (enum weir_compression)how;
        if (name == NULL || weir_str_equal(name, WEIR_COMPRESSIONS[how]))
            return WEIR_OK;
    }
    return weir_fail(err, WEIR_INVALID, "%s: expected none, lz4 or zstd, found '%s'", option, name);
}

static void free_batch(void *batch)
{
    preprocess_batch_free(batch);
}

/* Reads --share. */
static enum weir_status open_window(struct worker *worker,
                                    const struct weir_service_options *options,
                                    struct weir_error *err)
{
    uint64_t bytes_max = 0;
    enum weir_status status =
        weir_service_read_bytes("--share", options->share, WORKER_WINDOW_BYTES, &bytes_max, err);
    if (status != WEIR_OK)
        return status;
    preprocess_window_init(&worker->window, bytes_max, free_batch);
    worker->published.idle_bytes_max = bytes_max;
    return status;
}

/* Reads --keep: the bytes of the cache, and how rows are compressed there: BYTES[:HOW]. */
static enum weir_status open_kept(struct worker *worker, const struct weir_service_options *options,
                                  struct weir_error *err)
{
    enum weir_compression how;
    char *end = NULL;
    uint64_t bytes_max = options->keep != NULL ? strtoull(options->keep, &end, 10) : 0;
    const char *word = end != NULL && *end == ':' ? end + 1 : NULL;
    if (end != NULL && (end == options->keep || (*end != '\0' && *end != ':')))
        return weir_fail(err, WEIR_INVALID, "--keep: expected BYTES:HOW, found '%s'",
                         options->keep);
    if (options->key != NULL)
        bytes_max = 0; /* elsewhere: no erasure would find what is kept there */
    enum weir_status status = read_compression("--keep", word, &how, err);
    if (status == WEIR_OK)
        worker->kept =
            preprocess_kept_new(worker->loop, &worker->flow, options->data_dir, bytes_max, how);
    preprocess_kept_probe_init(&worker->probe, worker->loop, options->data_dir, bytes_max);
    preprocess_batch_maker_use_kept(worker->batch_maker, worker->kept);
    return status;
}

/* Reads --place. */
static enum weir_status read_place(struct worker *worker,
                                   const struct weir_service_options *options,
                                   struct weir_error *err)
{
    worker->place = options->place != NULL ? options->place : "pool";
    if (weir_str_equal(worker->place, "pool") || weir_str_equal(worker->place, "host"))
        return WEIR_OK;
    return weir_fail(err, WEIR_INVALID, "--place: expected pool or host, found '%s'",
                     worker->place);
}

enum weir_status preprocess_worker_open(const struct weir_service_options *options,
                                        struct weir_loop *loop, struct weir_rpc_server *server,
                                        void **ret_state, struct weir_error *err)
{
    struct worker *worker = weir_calloc(1, sizeof(*worker));
    worker->loop = loop;
    worker->server = server;
    worker->pump = preprocess_worker_pump;
    worker->prepare = preprocess_worker_prepare;
    worker->name = weir_strdup(options->name);
    worker->lent = weir_segment_new(WORKER_LENT_BYTES);
    worker->borrowed = weir_borrowed_new(loop);
    worker->ways = weir_ways_new(loop, weir_rpc_address(server));
    worker->layouts = preprocess_layouts_new(LAYOUTS_BYTES_MAX);
    preprocess_flow_init(&worker->flow, weir_random_u64() | 1); /* never 0 */
    for (size_t i = 0; i < WORKER_LEASES_MAX; i++)
        worker->tasks[i].worker = worker;
    preprocess_strays_end_of_the_dead(); /* one that was killed could not */
    enum weir_status status = open_crashes(worker, options, err);
    worker->batch_maker = preprocess_batch_maker_new(worker->crashes);
    if (status == WEIR_OK)
        status = read_compression("--compress", options->compress, &worker->compression, err);
    if (status == WEIR_OK)
        status = read_place(worker, options, err);
    if (status == WEIR_OK)
        status = open_window(worker, options, err);
    if (status == WEIR_OK)
        status = open_kept(worker, options, err);
    if (status == WEIR_OK)
        status = connect_peers(worker, options, err);
    if (status != WEIR_OK) {
        preprocess_worker_close(worker);
        return status;
    }
    worker->timer = weir_loop_timer(loop, 0, WORKER_TICK_MS, on_tick, worker);
    *ret_state = worker;
    return WEIR_OK;
}

/* Says that the worker ends, so that nobody waits for its leases to run out. */
static void say_goodbye(struct worker *worker)
{
    uint64_t session = worker->flow.session;
    if (worker->storage != NULL) {
        weir_rpc_send(worker->storage, MSG_hold_end, &(struct msg_hold_end){.session = session});
        weir_rpc_peer_linger(worker->storage, FAREWELL_MS);
    }
    if (worker->dispatcher != NULL) {
        weir_rpc_send(worker->dispatcher, MSG_worker_leave,
                      &(struct msg_worker_leave){.worker = worker->name, .session = session});
        weir_rpc_peer_linger(worker->dispatcher, FAREWELL_MS);
    }
}

void preprocess_worker_close(void *state)
{
    struct worker *worker = state;
    if (worker == NULL)
        return;
    weir_loop_cancel(worker->loop, worker->timer);
    preprocess_kept_probe_fini(&worker->probe);
    preprocess_kept_free(worker->kept); /* it writes as long as the use lease runs */
    say_goodbye(worker);
    weir_rpc_peer_close(worker->dispatcher);
    weir_rpc_peer_close(worker->storage);
    preprocess_sets_close(worker->sets);
    preprocess_record_sums_fini(&worker->sums);
    weir_rpc_peer_close(worker->selector);
    preprocess_flow_drop_all(&worker->flow);
    preprocess_worker_free_discarded(worker);
    preprocess_window_fini(&worker->window);
    weir_published_pool_clear(&worker->published);
    preprocess_flow_fini(&worker->flow);
    preprocess_worker_tasks_close(worker);
    preprocess_objects_free(worker->objects);
    preprocess_layouts_free(worker->layouts);
    preprocess_worker_jobs_close(worker);
    preprocess_batch_maker_free(worker->batch_maker);
    preprocess_crashes_close(worker->crashes);
    weir_segment_free(worker->lent);
    weir_borrowed_free(worker->borrowed);
    weir_ways_free(worker->ways);
    free(worker->name);
    free(worker);
}
