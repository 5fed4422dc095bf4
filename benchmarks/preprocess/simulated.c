/* Simulated workers and consumers: see simulated.h. */
#include "benchmarks/preprocess/simulated.h"

#include "core/base/clock.h"
#include "core/service/service.h"
#include "core/wire/position.h"
#include "core/wire/sample_set.h"

#include <stdio.h>
#include <stdlib.h>

enum {
    SAMPLES = 1000000,
    EPOCHS = 1000,
    CONNECTIONS = 500,
    LEASES = 4, /* wanted by a worker, as real ones do */
    LEASES_ROOM = 64,
    BEAT_MS = 300, /* of a worker that is told no other pace, and of a consumer at least */
    REPORT = 512,  /* groups done, after which a consumer beats at once */
    CALL_MS = 10000,
    STEP_MS = 1,
};

static const char CONFIG[] = "pipeline: {name: simulated}\n"
                             "preprocess:\n"
                             "  operators: [{op: record_fields, dense: [0, 1, f32]}]\n"
                             "  batch: {samples: 1, group: 1, shuffle: none, order: relaxed}\n";

struct consumer {
    struct simulated *simulated;
    uint64_t job, attempt, session, number, oldest;
    bool done[WEIR_AHEAD_MAX]; /* groups, index group % WEIR_AHEAD_MAX */
    size_t news;
    int64_t beat_ms;
    bool is_asking;
};

struct worker {
    struct simulated *simulated;
    struct weir_rpc_peer *peer;
    char name[24];
    uint64_t session, newest; /* fence seen */
    uint64_t jobs[LEASES_ROOM], groups[LEASES_ROOM], fences[LEASES_ROOM];
    size_t leases;
    int64_t due_ms;
    bool is_asking;
};

struct simulated {
    struct weir_loop *loop;
    struct weir_rpc_peer *peers[CONNECTIONS];
    struct consumer *consumers;
    struct worker *workers;
    size_t consumer_count, worker_count;
    uint64_t leased, beats;
    bool makes; /* what was leased is done at the next beat */
};

/* ---- consumers ---- */

static void on_client_orders(void *owner, const struct weir_reply *reply,
                             const struct weir_error *err)
{
    struct consumer *consumer = owner;
    (void)reply, (void)err;
    consumer->is_asking = false;
}

static void gather(struct consumer *consumer, struct weir_bits *received)
{
    for (; consumer->done[consumer->oldest % WEIR_AHEAD_MAX]; consumer->oldest++)
        consumer->done[consumer->oldest % WEIR_AHEAD_MAX] = false;
    for (size_t i = 0; i < WEIR_AHEAD_MAX; i++) {
        if (consumer->done[(consumer->oldest + i) % WEIR_AHEAD_MAX])
            weir_bits_set(received, i);
    }
    consumer->news = 0;
}

static void consumer_beat(struct consumer *consumer, int64_t now_ms)
{
    struct weir_bits received = {0};
    WEIR_AUTO_BUF bits = {0};
    WEIR_AUTO_BUF tally = {0};
    gather(consumer, &received);
    weir_bits_pack(&received, &bits);
    weir_tally_pack(&(struct weir_tally){.delivered = consumer->oldest}, &tally);
    const struct msg_client_beat beat = {
        .job = consumer->job,
        .attempt = consumer->attempt,
        .session = consumer->session,
        .number = ++consumer->number,
        .oldest = consumer->oldest,
        .consumed = weir_buf_view(&bits),
        .received = weir_buf_view(&bits),
        .tally = weir_buf_view(&tally),
    };
    consumer->is_asking = true;
    consumer->beat_ms = now_ms;
    weir_rpc_call(consumer->simulated->peers[consumer->job % CONNECTIONS], MSG_client_beat, &beat,
                  CALL_MS, on_client_orders, consumer);
    weir_bits_fini(&received);
}

static void consumers_beat(struct simulated *simulated, int64_t now_ms)
{
    for (size_t i = 0; i < simulated->consumer_count; i++) {
        struct consumer *consumer = &simulated->consumers[i];
        bool is_due = consumer->news >= REPORT || now_ms - consumer->beat_ms >= BEAT_MS;
        if (!consumer->is_asking && is_due)
            consumer_beat(consumer, now_ms);
    }
}

/* ---- workers ---- */

static void worker_beat(struct worker *worker);

static void make(struct simulated *simulated, uint64_t job, uint64_t group)
{
    struct consumer *consumer = &simulated->consumers[job - 1];
    bool *done = &consumer->done[group % WEIR_AHEAD_MAX];
    consumer->news += !*done;
    *done = true;
}

static void take_orders(struct worker *worker, const struct msg_worker_orders *orders)
{
    struct simulated *simulated = worker->simulated;
    uint64_t newest = worker->newest;
    worker->leases = orders->jobs.count < LEASES_ROOM ? orders->jobs.count : LEASES_ROOM;
    for (size_t i = 0; i < worker->leases; i++) {
        worker->jobs[i] = orders->jobs.at[i];
        worker->groups[i] = orders->groups.at[i];
        worker->fences[i] = orders->fences.at[i];
        simulated->leased += worker->fences[i] > newest;
        if (worker->fences[i] > worker->newest)
            worker->newest = worker->fences[i];
        if (simulated->makes)
            make(simulated, worker->jobs[i], worker->groups[i]);
    }
    worker->due_ms += orders->beat_ms > BEAT_MS ? orders->beat_ms : BEAT_MS;
}

static void on_worker_orders(void *owner, const struct weir_reply *reply,
                             const struct weir_error *err)
{
    struct worker *worker = owner;
    (void)err;
    worker->is_asking = false;
    if (reply == NULL || reply->type != MSG_worker_orders)
        return;
    worker->simulated->beats++;
    take_orders(worker, reply->message);
    if (worker->simulated->makes)
        worker_beat(worker);
}

static void worker_beat(struct worker *worker)
{
    const struct simulated *simulated = worker->simulated;
    uint32_t sent[LEASES_ROOM];
    for (size_t i = 0; i < worker->leases; i++)
        sent[i] = simulated->makes;
    size_t busy = simulated->makes ? 0 : worker->leases;
    const struct msg_worker_beat beat = {
        .worker = worker->name,
        .session = worker->session,
        .endpoint = "ipc:///nowhere",
        .want = busy < LEASES ? (uint32_t)(LEASES - busy) : 0,
        .jobs = {worker->jobs, worker->leases},
        .groups = {worker->groups, worker->leases},
        .fences = {worker->fences, worker->leases},
        .sent = {sent, worker->leases},
    };
    worker->is_asking = true;
    weir_rpc_call(worker->peer, MSG_worker_beat, &beat, CALL_MS, on_worker_orders, worker);
}

static void workers_beat(struct simulated *simulated, int64_t now_ms)
{
    for (size_t i = 0; i < simulated->worker_count; i++) {
        struct worker *worker = &simulated->workers[i];
        if (!worker->is_asking && (simulated->makes || now_ms >= worker->due_ms))
            worker_beat(worker);
    }
}

/* ---- running ---- */

static void run(struct simulated *simulated, int64_t ms)
{
    int64_t now_ms = weir_now_ms(), end_ms = now_ms + ms, looked_ms = 0;
    for (; now_ms < end_ms; now_ms = weir_now_ms()) {
        if (now_ms != looked_ms)
            workers_beat(simulated, now_ms);
        looked_ms = now_ms;
        consumers_beat(simulated, now_ms);
        weir_loop_step(simulated->loop, STEP_MS);
    }
}

uint64_t simulated_lease(struct simulated *simulated, int64_t ms)
{
    uint64_t before = simulated->leased;
    simulated->makes = true;
    run(simulated, ms);
    return simulated->leased - before;
}

uint64_t simulated_beat(struct simulated *simulated, int64_t ms)
{
    uint64_t before = simulated->beats;
    simulated->makes = false;
    run(simulated, ms);
    return simulated->beats - before;
}

size_t simulated_leases(const struct simulated *simulated)
{
    size_t leases = 0;
    for (size_t i = 0; i < simulated->worker_count; i++)
        leases += simulated->workers[i].leases;
    return leases;
}

/* ---- life ---- */

static enum weir_status make_set(struct rig *rig, struct weir_digest *ret_digest, char **ret_path,
                                 struct weir_error *err)
{
    WEIR_AUTO_FREE uint64_t *ids = weir_calloc(SAMPLES, sizeof(*ids));
    for (uint64_t i = 0; i < SAMPLES; i++)
        ids[i] = (UINT64_C(1) << 44) + i;
    *ret_path = weir_format("%s/sets/simulated.set", rig_data_dir(rig));
    return weir_sample_set_write(*ret_path, ids, NULL, SAMPLES, ret_digest, err);
}

static enum weir_status open_consumer(struct consumer *consumer, struct rig *rig,
                                      const struct msg_job_open *open, struct weir_error *err)
{
    const struct msg_client_open ask = {.job = open->job, .session = consumer->session};
    const struct rig_call first = {RIG_DISPATCHER, MSG_job_open, open, MSG_job_opened};
    const struct rig_call then = {RIG_DISPATCHER, MSG_client_open, &ask, MSG_client_opened};
    struct msg_job_opened opened;
    struct msg_client_opened place = {0};
    enum weir_status status = rig_request(rig, &first, &opened, err);
    if (status == WEIR_OK)
        status = rig_request(rig, &then, &place, err);
    consumer->attempt = place.attempt;
    if (status == WEIR_OK && place.attempt == 0)
        status = weir_fail(err, WEIR_INTERNAL, "job %llu did not open", /* nobody else is there */
                           (unsigned long long)open->job);
    return status;
}

static enum weir_status open_jobs(struct simulated *simulated, struct rig *rig,
                                  struct weir_error *err)
{
    WEIR_AUTO_FREE char *path = NULL;
    struct weir_digest digest;
    char text[WEIR_DIGEST_TEXT_MAX];
    enum weir_status status = make_set(rig, &digest, &path, err);
    weir_digest_text(&digest, text);
    for (size_t i = 0; i < simulated->consumer_count && status == WEIR_OK; i++) {
        struct consumer *consumer = &simulated->consumers[i];
        consumer->simulated = simulated;
        consumer->job = i + 1;
        consumer->session = i + 1;
        const struct msg_job_open open = {.job = consumer->job,
                                          .file = "simulated.yaml",
                                          .config = weir_bytes_of(CONFIG),
                                          .set_path = path,
                                          .set_digest = text,
                                          .epochs = EPOCHS,
                                          .mode = "train"};
        status = open_consumer(consumer, rig, &open, err);
    }
    return status;
}

static enum weir_status connect_all(struct simulated *simulated, struct rig *rig,
                                    struct weir_error *err)
{
    WEIR_AUTO_FREE char *endpoint = weir_service_endpoint(rig_socket_dir(rig), "dispatcher");
    enum weir_status status = WEIR_OK;
    for (size_t i = 0; i < CONNECTIONS && status == WEIR_OK; i++)
        status = weir_rpc_connect(simulated->loop, endpoint, NULL, NULL, &simulated->peers[i], err);
    return status;
}

enum weir_status simulated_start(struct rig *rig, unsigned workers, unsigned jobs,
                                 struct simulated **ret_simulated, struct weir_error *err)
{
    WEIR_AUTO(simulated) simulated = weir_calloc(1, sizeof(*simulated));
    simulated->loop = weir_loop_new();
    simulated->consumers = weir_calloc(jobs, sizeof(*simulated->consumers));
    simulated->consumer_count = jobs;
    simulated->workers = weir_calloc(workers, sizeof(*simulated->workers));
    simulated->worker_count = workers;
    enum weir_status status = connect_all(simulated, rig, err);
    if (status == WEIR_OK)
        status = open_jobs(simulated, rig, err);
    for (unsigned i = 0; i < workers; i++) {
        struct worker *worker = &simulated->workers[i];
        worker->simulated = simulated;
        worker->peer = simulated->peers[i % CONNECTIONS];
        worker->session = i + 1;
        /* Spread over the first second, as who starts at some time or other. */
        worker->due_ms = weir_now_ms() + i * 1000 / workers;
        (void)snprintf(worker->name, sizeof(worker->name), "simulated-%u", i);
    }
    if (status == WEIR_OK)
        *ret_simulated = WEIR_TAKE(simulated);
    return status;
}

void simulated_stop(struct simulated *simulated)
{
    if (simulated == NULL)
        return;
    for (size_t i = 0; i < CONNECTIONS; i++)
        weir_rpc_peer_close(simulated->peers[i]);
    weir_loop_free(simulated->loop);
    free(simulated->consumers);
    free(simulated->workers);
    free(simulated);
}
