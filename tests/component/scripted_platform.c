/* The scripted platform: see its header. Its state is under one mutex, so that a test may look and
 * meddle. */
#include "tests/component/scripted_platform.h"

#include "core/base/clock.h"
#include "core/base/memory.h"
#include "core/loop/loop.h"
#include "core/rpc/rpc.h"
#include "core/wire/position.h"
#include "core/wire/sample.h"
#include "core/wire/tensor.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

enum {
    TICK_MS = 5,
    FENCE = 100,
    WORKER_SESSION = 77,
    ERASED_MAX = 16,
    BATCHES_MAX = 4096,
    BURST = 8,
    LATE_MAX = 16
};

/* A request for a task that is answered later. */
struct late_task {
    struct platform *platform;
    struct weir_request request;
    uint64_t run;
};

struct platform {
    struct platform_script script;
    uint64_t batches_per_epoch, batches;
    pthread_t thread;
    struct weir_loop *loop;
    struct weir_rpc_server *dispatcher, *worker, *storage, *orchestrator;
    char *worker_endpoint;
    struct late_task late[LATE_MAX];
    size_t late_count;

    pthread_mutex_t mutex; /* of everything below */
    struct platform_view view;
    uint32_t next_run;
    bool stopping, storage_silent, superseded, forgotten, stop_run, paused;
    bool regroups, reported; /* told: a commit was refused for it */
    bool confused;
    uint64_t erased[ERASED_MAX];
    uint64_t epoch;
    uint64_t attempt, session;
    struct weir_position position; /* what the consumer opened with */
    bool is_credited;
    struct weir_route consumer;
    uint64_t sent_bytes, granted;
    uint64_t fence;
    uint64_t next; /* batch to send */
    uint64_t end;  /* no batch from it on is sent */
};

static void lock(struct platform *platform)
{
    pthread_mutex_lock(&platform->mutex);
}

static void unlock(struct platform *platform)
{
    pthread_mutex_unlock(&platform->mutex);
}

/* ---- worker ---- */

static bool is_erased(const struct platform *platform, uint64_t id)
{
    for (uint64_t i = 0; i < platform->epoch; i++) {
        if (platform->erased[i] == id)
            return true;
    }
    return false;
}

struct columns {
    uint64_t ids[64], holes[64];
    int64_t labels[64];
    uint32_t states[64], offsets[65];
    float x[128];
    int32_t tokens[512];
    uint32_t samples, hole_count;
};

static void add_sample(struct columns *columns, uint64_t id)
{
    uint32_t s = columns->samples++, at = columns->offsets[s];
    columns->ids[s] = id;
    columns->labels[s] = (int64_t)(id % 2);
    columns->x[2 * (size_t)s] = (float)id;
    columns->x[2 * (size_t)s + 1] = (float)(id % 2);
    for (uint64_t t = 0; t <= id % 5; t++)
        columns->tokens[at++] = t == 0 ? (int32_t)(id % 2) : (int32_t)(2 + (id + t) % 50);
    columns->offsets[s + 1] = at;
}

static void fill(const struct platform *platform, uint64_t batch, struct columns *columns)
{
    uint64_t size = platform->script.batch_samples,
             first = batch % platform->batches_per_epoch * size;
    memset(columns, 0, sizeof(*columns));
    uint32_t hole =
        platform->script.all_holes != 0 ? platform->script.all_holes : WEIR_SAMPLE_ERASED;
    bool is_empty = platform->script.all_holes != 0 || (platform->script.is_empty_at && batch == 1);
    for (uint64_t i = first; i < first + size && i < platform->script.samples; i++) {
        if (is_erased(platform, i + 1) || is_empty) {
            columns->states[columns->hole_count] = hole;
            columns->holes[columns->hole_count++] = i + 1;
        } else {
            add_sample(columns, i + 1);
        }
    }
}

static void pack(const struct columns *columns, struct weir_frames *frames)
{
    size_t n = columns->samples;
    weir_frames_copy(frames, columns->ids, n * sizeof(uint64_t));
    weir_frames_copy(frames, columns->labels, n * sizeof(int64_t));
    weir_frames_copy(frames, "", 0);
    weir_frames_copy(frames, columns->holes, columns->hole_count * sizeof(uint64_t));
    weir_frames_copy(frames, columns->x, n * 2 * sizeof(float));
    weir_frames_copy(frames, columns->offsets, (n + 1) * sizeof(uint32_t));
    weir_frames_copy(frames, columns->tokens, columns->offsets[n] * sizeof(int32_t));
}

static void send_batch(struct platform *platform, uint64_t batch)
{
    static const char *const NAMES[] = {"x", "tokens"};
    struct columns columns;
    struct weir_frames frames = {0};
    fill(platform, batch, &columns);
    pack(&columns, &frames);
    uint64_t shape[] = {columns.samples, 2, columns.samples};
    uint32_t types[] = {WEIR_F32, WEIR_I32}, ranks[] = {2, 1}, ragged[] = {0, 1};
    struct msg_batch message = {
        .job = 5,
        .attempt = platform->attempt,
        .session = platform->session,
        .worker_session = WORKER_SESSION,
        .batch = batch,
        .group = batch, /* groups of one batch */
        .fence = platform->fence,
        .erasure_epoch = platform->epoch,
        .samples = columns.samples,
        .hole_states = {columns.states, columns.hole_count},
        .label_kind = WEIR_LABEL_CLASS,
        .names = {NAMES, 2},
        .types = {types, 2},
        .ranks = {ranks, 2},
        .shape = {shape, 3},
        .ragged = {ragged, 2},
        .bytes = weir_frames_bytes(&frames),
        .sent = platform->sent_bytes,
    };
    uint64_t bytes = message.bytes;
    if (weir_rpc_push(platform->worker, &platform->consumer, MSG_batch, &message, &frames))
        platform->sent_bytes += bytes;
    weir_frames_clear(&frames);
}

static void send_some(struct platform *platform)
{
    if (!platform->is_credited || platform->paused || platform->sent_bytes >= platform->granted)
        return;
    uint64_t first = platform->next,
             last = platform->end < platform->batches ? platform->end : platform->batches,
             end = first + BURST < last ? first + BURST : last;
    for (uint64_t i = first; i < end; i++) {
        uint64_t batch = platform->script.shuffles_sending ? end - 1 - (i - first) : i;
        if (weir_position_consumed(&platform->position, batch))
            continue;
        send_batch(platform, batch);
        if (platform->script.shuffles_sending)
            send_batch(platform, batch);
    }
    platform->next = end;
}

static void on_credit(void *owner, struct weir_request *request)
{
    struct platform *platform = owner;
    const struct msg_credit *credit = request->message;
    lock(platform);
    if (credit->session == platform->session) {
        platform->consumer = request->route;
        platform->is_credited = true;
        platform->granted = credit->granted;
    }
    unlock(platform);
}

/* ---- dispatcher ---- */

static void on_open(void *owner, struct weir_request *request)
{
    struct platform *platform = owner;
    const struct msg_client_open *open = request->message;
    const char *workers[] = {platform->worker_endpoint};
    lock(platform);
    if (open->session != platform->session) {
        platform->session = open->session;
        platform->attempt++;
        platform->next = 0;
        platform->sent_bytes = 0;
        platform->is_credited = false;
        weir_position_fini(&platform->position);
        weir_require(weir_position_unpack(open->position, &platform->position, NULL) == WEIR_OK);
        platform->view.opens++;
    }
    struct msg_client_opened opened = {
        .attempt = platform->attempt,
        .fence = FENCE,
        .samples = platform->script.samples,
        .epochs = platform->script.epochs,
        .batches_per_epoch = platform->batches_per_epoch,
        .batch_samples = platform->script.batch_samples,
        .group_batches = 1,
        .deterministic = !platform->script.relaxed,
        .workers = {workers, 1},
        .fitted = weir_bytes_of("fitted state"),
    };
    bool forgotten = platform->forgotten;
    unlock(platform);
    struct weir_error err;
    if (forgotten) {
        weir_ignore(weir_fail(&err, WEIR_NOT_FOUND, "job 5 is not known")); /* sent below */
        weir_rpc_refuse(request->server, &request->route, &err);
        return;
    }
    weir_rpc_reply(request->server, &request->route, MSG_client_opened, &opened, NULL);
}

static void on_beat(void *owner, struct weir_request *request)
{
    struct platform *platform = owner;
    const struct msg_client_beat *beat = request->message;
    struct weir_tally tally = {0};
    const char *workers[] = {platform->worker_endpoint};
    lock(platform);
    weir_require(weir_tally_unpack(beat->tally, &tally, NULL) == WEIR_OK);
    platform->view.beats++;
    platform->view.oldest = beat->oldest;
    platform->view.delivered = tally.delivered;
    if (beat->again_groups.count > 0 && beat->session == platform->session) {
        platform->fence++; /* leased again, to the same worker */
        for (size_t i = 0; i < beat->again_groups.count; i++)
            send_batch(platform, beat->again_groups.at[i]);
    }
    struct msg_client_orders orders = {
        .number = beat->number,
        .superseded = platform->superseded,
        .regroup = platform->reported,
        .workers = {workers, 1},
    };
    unlock(platform);
    weir_rpc_reply(request->server, &request->route, MSG_client_orders, &orders, NULL);
}

static void on_commit(void *owner, struct weir_request *request)
{
    struct platform *platform = owner;
    const struct msg_client_commit *commit = request->message;
    struct msg_client_committed committed = {.final = commit->final};
    lock(platform);
    platform->view.commits++;
    platform->view.final |= commit->final;
    platform->reported |= platform->regroups;
    bool is_over = platform->regroups, is_confused = platform->confused;
    unlock(platform);
    struct weir_error err;
    if (is_confused) {
        weir_rpc_reply(request->server, &request->route, MSG_client_orders,
                       &(struct msg_client_orders){0}, NULL);
        return;
    }
    if (is_over) {
        weir_ignore(weir_fail(&err, WEIR_STALE, "attempt %lu is over", commit->attempt));
        weir_rpc_refuse(request->server, &request->route, &err);
        return;
    }
    weir_rpc_reply(request->server, &request->route, MSG_client_committed, &committed, NULL);
}

/* ---- storage ---- */

static void on_hold(void *owner, struct weir_request *request)
{
    struct platform *platform = owner;
    const struct msg_hold *hold = request->message;
    lock(platform);
    platform->view.holds++;
    platform->view.hold_epoch = hold->epoch;
    struct msg_hold_is answer = {.epoch = platform->epoch, .lease_ms = 300};
    if (hold->epoch < platform->epoch)
        answer.erased =
            (struct weir_u64s){platform->erased + hold->epoch, platform->epoch - hold->epoch};
    bool silent = platform->storage_silent;
    unlock(platform);
    if (!silent)
        weir_rpc_reply(request->server, &request->route, MSG_hold_is, &answer, NULL);
}

static void on_hold_end(void *owner, struct weir_request *request)
{
    (void)owner;
    (void)request;
}

/* ---- orchestrator ---- */

static void tell_task(const struct platform *platform, struct weir_request *request, uint64_t job)
{
    static const char *const CLASSES[] = {"even", "odd"};
    const struct platform_script *script = &platform->script;
    struct msg_run_is answer = {
        .mode = script->mode,
        .pipeline = "scripted",
        .file = "scripted.yaml",
        .config = weir_bytes_of(script->config),
        .job = job,
        .seed = 1,
        .start_from = script->start_from,
        .directory = script->directory,
        .classes = {CLASSES, 2},
        .label_kind = WEIR_LABEL_CLASS,
        .outputs = 1,
        .group = "",
        .options = "null",
        .reports = strstr(script->config, "report_losses: true") != NULL,
    };
    weir_rpc_reply(request->server, &request->route, MSG_run_is, &answer, NULL);
}

static void tell_late(void *owner)
{
    const struct late_task *late = owner;
    struct weir_request request = late->request;
    tell_task(late->platform, &request, late->run);
}

static void on_run_request(void *owner, struct weir_request *request)
{
    struct platform *platform = owner;
    const struct msg_run_request *message = request->message;
    struct late_task *late = &platform->late[platform->late_count++ % LATE_MAX];
    *late = (struct late_task){.platform = platform, .request = *request, .run = message->run};
    if (platform->script.slow_ms == 0)
        tell_late(late);
    else
        weir_loop_timer(platform->loop, platform->script.slow_ms, 0, tell_late, late);
}

static void on_run_next(void *owner, struct weir_request *request)
{
    struct platform *platform = owner;
    lock(platform);
    uint32_t next = platform->next_run;
    unlock(platform);
    if (next != PLATFORM_UNDECIDED)
        tell_task(platform, request, next);
}

static void on_run_beat(void *owner, struct weir_request *request)
{
    struct platform *platform = owner;
    lock(platform);
    struct msg_run_orders orders = {.stop = platform->stop_run};
    unlock(platform);
    weir_rpc_reply(request->server, &request->route, MSG_run_orders, &orders, NULL);
}

static void on_run_done(void *owner, struct weir_request *request)
{
    struct platform *platform = owner;
    const struct msg_run_done *done = request->message;
    static const struct msg_run_noted noted;
    lock(platform);
    platform->view.done = true;
    platform->view.has_model = done->model[0] != '\0';
    platform->view.loss = done->loss;
    platform->view.done_samples = done->samples;
    unlock(platform);
    weir_rpc_reply(request->server, &request->route, MSG_run_noted, &noted, NULL);
}

/* ---- life ---- */

static const struct weir_rpc_handler DISPATCHER[] = {WEIR_ON(client_open, on_open),
                                                     WEIR_ON(client_beat, on_beat),
                                                     WEIR_ON(client_commit, on_commit),
                                                     {MSG_none, NULL}};
static const struct weir_rpc_handler WORKER[] = {WEIR_ON(credit, on_credit), {MSG_none, NULL}};
static const struct weir_rpc_handler STORAGE[] = {
    WEIR_ON(hold, on_hold), WEIR_ON(hold_end, on_hold_end), {MSG_none, NULL}};
static const struct weir_rpc_handler ORCHESTRATOR[] = {WEIR_ON(run_request, on_run_request),
                                                       WEIR_ON(run_beat, on_run_beat),
                                                       WEIR_ON(run_done, on_run_done),
                                                       WEIR_ON(run_next, on_run_next),
                                                       {MSG_none, NULL}};

static void on_tick(void *owner)
{
    struct platform *platform = owner;
    lock(platform);
    send_some(platform);
    bool stopping = platform->stopping;
    unlock(platform);
    if (stopping)
        weir_loop_stop(platform->loop);
}

static struct weir_rpc_server *serve(struct platform *platform, const char *name,
                                     const struct weir_rpc_handler *handlers)
{
    struct weir_rpc_server *server = NULL;
    struct weir_error err;
    WEIR_AUTO_FREE char *endpoint =
        weir_format("ipc://%s/%s.sock", platform->script.socket_dir, name);
    if (weir_rpc_serve(platform->loop, endpoint, handlers, platform, &server, &err) != WEIR_OK)
        weir_require_failed(err.text, __FILE__, __LINE__);
    return server;
}

static void *run(void *owner)
{
    struct platform *platform = owner;
    platform->loop = weir_loop_new();
    platform->dispatcher = serve(platform, "dispatcher", DISPATCHER);
    platform->worker = serve(platform, "worker-1", WORKER);
    platform->storage = serve(platform, "storage", STORAGE);
    if (platform->script.mode != NULL)
        platform->orchestrator = serve(platform, "orchestrator", ORCHESTRATOR);
    weir_loop_timer(platform->loop, 0, TICK_MS, on_tick, platform);
    weir_loop_run(platform->loop);
    weir_rpc_server_close(platform->dispatcher);
    weir_rpc_server_close(platform->worker);
    weir_rpc_server_close(platform->storage);
    weir_rpc_server_close(platform->orchestrator);
    weir_loop_free(platform->loop);
    return NULL;
}

struct platform *platform_start(const struct platform_script *script)
{
    struct platform *platform = weir_calloc(1, sizeof(*platform));
    platform->script = *script;
    platform->fence = FENCE;
    platform->end = UINT64_MAX;
    if (platform->script.batch_samples == 0)
        platform->script.batch_samples = 2;
    if (platform->script.epochs == 0)
        platform->script.epochs = 1;
    uint32_t size = platform->script.batch_samples;
    platform->batches_per_epoch = (script->samples + size - 1) / size;
    platform->batches = platform->batches_per_epoch * platform->script.epochs;
    platform->worker_endpoint = weir_format("ipc://%s/worker-1.sock", script->socket_dir);
    pthread_mutex_init(&platform->mutex, NULL);
    weir_require(pthread_create(&platform->thread, NULL, run, platform) == 0);
    return platform;
}

void platform_stop(struct platform *platform)
{
    lock(platform);
    platform->stopping = true;
    unlock(platform);
    pthread_join(platform->thread, NULL);
    pthread_mutex_destroy(&platform->mutex);
    weir_position_fini(&platform->position);
    free(platform->worker_endpoint);
    free(platform);
}

struct platform_view platform_look(struct platform *platform)
{
    lock(platform);
    struct platform_view view = platform->view;
    unlock(platform);
    return view;
}

void platform_erase(struct platform *platform, uint64_t id)
{
    lock(platform);
    platform->erased[platform->epoch++] = id;
    unlock(platform);
}

static void set(struct platform *platform, bool *flag, bool value)
{
    lock(platform);
    *flag = value;
    unlock(platform);
}

void platform_silence_storage(struct platform *platform, bool silent)
{
    set(platform, &platform->storage_silent, silent);
}

void platform_regroup(struct platform *platform)
{
    set(platform, &platform->regroups, true);
}

void platform_confuse(struct platform *platform)
{
    set(platform, &platform->confused, true);
}

void platform_supersede(struct platform *platform)
{
    set(platform, &platform->superseded, true);
}

void platform_forget_run(struct platform *platform)
{
    set(platform, &platform->forgotten, true);
}

void platform_set_next(struct platform *platform, uint32_t run)
{
    lock(platform);
    platform->next_run = run;
    unlock(platform);
}

void platform_stop_run(struct platform *platform)
{
    set(platform, &platform->stop_run, true);
}

void platform_pause_worker(struct platform *platform, bool paused)
{
    set(platform, &platform->paused, paused);
}

void platform_hold_batches(struct platform *platform, uint64_t batch)
{
    lock(platform);
    platform->end = batch;
    unlock(platform);
}
