/* See far.h. */
#include "benchmarks/cluster/far.h"

#include "benchmarks/cluster/far_postgres.h"
#include "benchmarks/cluster/far_times.h"
#include "benchmarks/rig.h"
#include "core/base/clock.h"
#include "core/base/file.h"
#include "core/wire/sample_set.h"
#include "preprocess/dispatcher/dispatcher.h"

#include <stdlib.h>

enum {
    JOBS = 16,
    BATCHES = 1000000,
    ROUND_TRIP_NS = 5000000,
    BEAT_MS = 20, /* ten times as often as a trainer does */
    COMMIT_EVERY = 5,
    ANSWER_MS = 60000,
    WANT = 4,
};

static const char CONFIG[] = "preprocess:\n"
                             "  operators: [{op: json_fields, fields: [a]}]\n"
                             "  batch: {samples: 1, group: 1, shuffle: none, order: relaxed}\n";

/* A message that is not answered yet. */
struct asked {
    struct far *far;
    enum far_message message;
    int64_t sent_ns;
    bool is_open;
};

struct consumer {
    uint64_t job, attempt, oldest, beats;
    struct asked beat, commit;
};

struct far {
    struct rig *rig;
    struct far_postgres *postgres;
    struct weir_loop *loop;
    struct weir_rpc_server *server;
    struct weir_rpc_peer *peer;
    void *dispatcher;
    char *data_dir, *set_path;
    char digest[WEIR_DIGEST_TEXT_MAX];
    struct consumer consumer[JOBS];
    struct asked worker;
    struct far_times times[FAR_MESSAGES];
    uint64_t timer;
    bool has_failed;
    struct weir_error err;
};

/* ---- what is said ---- */

static void note(struct asked *asked)
{
    far_times_note(&asked->far->times[asked->message], weir_now_ns() - asked->sent_ns);
}

static void on_answer(void *owner, const struct weir_reply *reply, const struct weir_error *err)
{
    struct asked *asked = owner;
    asked->is_open = false;
    if (reply != NULL) {
        note(asked);
        return;
    }
    asked->far->has_failed = true;
    asked->far->err = *err;
}

static void ask(struct asked *asked, enum weir_message type, const void *message)
{
    asked->is_open = true;
    asked->sent_ns = weir_now_ns();
    weir_rpc_call(asked->far->peer, type, message, ANSWER_MS, on_answer, asked);
}

static void beat(struct consumer *consumer)
{
    WEIR_AUTO_BUF tally = {0};
    weir_tally_pack(&(struct weir_tally){.delivered = consumer->oldest}, &tally);
    ask(&consumer->beat, MSG_client_beat,
        &(struct msg_client_beat){.job = consumer->job,
                                  .attempt = consumer->attempt,
                                  .session = consumer->job,
                                  .number = ++consumer->beats,
                                  .oldest = consumer->oldest,
                                  .tally = weir_buf_view(&tally)});
}

static void commit(struct consumer *consumer)
{
    WEIR_AUTO_BUF packed = {0};
    const struct weir_position position = {.oldest = consumer->oldest,
                                           .tally = {.delivered = consumer->oldest}};
    weir_position_pack(&position, &packed);
    ask(&consumer->commit, MSG_client_commit,
        &(struct msg_client_commit){.job = consumer->job,
                                    .attempt = consumer->attempt,
                                    .session = consumer->job,
                                    .position = weir_buf_view(&packed)});
}

static void on_timer(void *owner)
{
    struct far *far = owner;
    for (size_t i = 0; i < JOBS; i++) {
        struct consumer *consumer = &far->consumer[i];
        consumer->oldest++;
        if (!consumer->beat.is_open)
            beat(consumer);
        if (!consumer->commit.is_open && (consumer->oldest + i) % COMMIT_EVERY == 0)
            commit(consumer);
    }
    if (!far->worker.is_open)
        ask(&far->worker, MSG_worker_beat,
            &(struct msg_worker_beat){
                .worker = "worker-1", .session = 1, .endpoint = "ipc:///nowhere", .want = WANT});
}

enum weir_status far_run(struct far *far, size_t commits, struct weir_error *err)
{
    for (size_t i = 0; i < FAR_MESSAGES; i++)
        far->times[i].count = 0;
    far->timer = weir_loop_timer(far->loop, BEAT_MS, BEAT_MS, on_timer, far);
    while (!far->has_failed && far->times[FAR_COMMITS].count < commits)
        weir_loop_step(far->loop, BEAT_MS);
    weir_loop_cancel(far->loop, far->timer);
    *err = far->err;
    return far->has_failed ? far->err.status : WEIR_OK;
}

int64_t far_p99_ns(const struct far *far, enum far_message message)
{
    return far_times_p99_ns(&far->times[message]);
}

const char *far_conninfo(const struct far *far)
{
    return far_postgres_conninfo(far->postgres);
}

/* ---- life ---- */

/* An answer that is waited for: the dispatcher runs in this loop. */
struct heard {
    bool is_done;
    enum weir_status status;
    struct weir_error *err;
    uint64_t attempt, newest;
};

static void on_heard(void *owner, const struct weir_reply *reply, const struct weir_error *err)
{
    struct heard *heard = owner;
    heard->is_done = true;
    heard->status = err != NULL ? err->status : WEIR_OK;
    if (err != NULL)
        *heard->err = *err;
    if (reply == NULL || reply->type != MSG_client_opened)
        return;
    const struct msg_client_opened *opened = reply->message;
    heard->attempt = opened->attempt;
    heard->newest = opened->newest;
}

static enum weir_status request(struct far *far, enum weir_message type, const void *message,
                                struct heard *heard, struct weir_error *err)
{
    *heard = (struct heard){.err = err};
    weir_rpc_call(far->peer, type, message, ANSWER_MS, on_heard, heard);
    while (!heard->is_done)
        weir_loop_step(far->loop, BEAT_MS);
    return heard->status;
}

static enum weir_status open_job(struct far *far, size_t index, struct weir_error *err)
{
    struct consumer *consumer = &far->consumer[index];
    struct heard placed = {0};
    uint64_t job = index + 1;
    *consumer = (struct consumer){.job = job,
                                  .beat = {.far = far, .message = FAR_CLIENT_BEATS},
                                  .commit = {.far = far, .message = FAR_COMMITS}};
    const struct msg_job_open open = {.job = job,
                                      .file = "far.yaml",
                                      .config = weir_bytes_of(CONFIG),
                                      .set_path = far->set_path,
                                      .set_digest = far->digest,
                                      .epochs = BATCHES,
                                      .mode = "train"};
    enum weir_status status = request(far, MSG_job_open, &open, &placed, err);
    while (status == WEIR_OK && placed.attempt == 0)
        status =
            request(far, MSG_client_open,
                    &(struct msg_client_open){.job = job, .session = job, .after = placed.newest},
                    &placed, err);
    consumer->attempt = placed.attempt;
    return status;
}

static enum weir_status seal(struct far *far, struct weir_error *err)
{
    struct weir_digest digest;
    const uint64_t id = UINT64_C(1) << 44;
    enum weir_status status = weir_sample_set_write(far->set_path, &id, NULL, 1, &digest, err);
    weir_digest_text(&digest, far->digest);
    return status;
}

static enum weir_status open_dispatcher(struct far *far, struct weir_error *err)
{
    const struct weir_service_options options = {.data_dir = far->data_dir,
                                                 .socket_dir = far->data_dir,
                                                 .postgres = far_postgres_conninfo(far->postgres),
                                                 .name = "dispatcher"};
    enum weir_status status =
        preprocess_dispatcher_open(&options, far->loop, NULL, &far->dispatcher, err);
    if (status == WEIR_OK)
        status = weir_rpc_serve(far->loop, "inproc://far", PREPROCESS_DISPATCHER_HANDLERS,
                                far->dispatcher, &far->server, err);
    if (status != WEIR_OK)
        return status;
    ((struct dispatcher *)far->dispatcher)->server = far->server;
    return weir_rpc_connect(far->loop, "inproc://far", NULL, NULL, &far->peer, err);
}

static enum weir_status open_all(struct far *far, const char *directory, struct weir_error *err)
{
    enum weir_status status = rig_start(directory, 0, &far->rig, err);
    if (status == WEIR_OK)
        status = weir_make_directories(far->data_dir, 0755, err);
    if (status == WEIR_OK)
        status = seal(far, err);
    if (status == WEIR_OK)
        status = far_postgres_open(far->data_dir, rig_postgres(far->rig), ROUND_TRIP_NS,
                                   &far->postgres, err);
    if (status == WEIR_OK)
        status = open_dispatcher(far, err);
    for (size_t i = 0; i < JOBS && status == WEIR_OK; i++)
        status = open_job(far, i, err);
    return status;
}

enum weir_status far_open(const char *directory, struct far **ret_far, struct weir_error *err)
{
    struct far *far = weir_calloc(1, sizeof(*far));
    far->loop = weir_loop_new();
    far->data_dir = weir_format("%s/far", directory);
    far->set_path = weir_format("%s/one.set", far->data_dir);
    far->worker = (struct asked){.far = far, .message = FAR_WORKER_BEATS};
    enum weir_status status = open_all(far, directory, err);
    if (status != WEIR_OK) {
        far_close(far);
        return status;
    }
    *ret_far = far;
    return WEIR_OK;
}

void far_close(struct far *far)
{
    if (far == NULL)
        return;
    weir_rpc_peer_close(far->peer);
    weir_rpc_server_close(far->server);
    preprocess_dispatcher_close(far->dispatcher);
    far_postgres_close(far->postgres);
    weir_loop_free(far->loop);
    rig_stop(far->rig);
    for (size_t i = 0; i < FAR_MESSAGES; i++)
        far_times_fini(&far->times[i]);
    free(far->data_dir);
    free(far->set_path);
    free(far);
}
