/* See shared.h. */
#include "benchmarks/reuse/shared.h"

#include "benchmarks/slice/pictures.h"
#include "core/base/clock.h"
#include "core/base/file.h"
#include "trainer_client/include/weir/client.h"

#include <pthread.h>
#include <string.h>
#include <time.h>

enum {
    PICTURES = 2048,
    WORKERS = 2,
    BATCH = 32,
    STEP_NS = 150 * 1000 * 1000,  /* several times what a worker needs for a batch */
    STOP_S = 60,                  /* longer than all that the others do */
    LOST = 3,                     /* batches that were taken after the state, when a trainer dies */
    PATIENCE_MS = 15 * 60 * 1000, /* with a machine that does other things beside */
};

#define NS_PER_S INT64_C(1000000000)

enum role { STOPS, DIES, COMES_LATE, STEADY };

static const struct jpeg_picture PICTURE = {
    .height = 375, .width = 500, .quality = 85, .components = 3, .noise = 12};
static const char SECTION[] =
    "  operators:\n"
    "    - {op: decode_jpeg}\n"
    "    - {op: random_resized_crop, size: 224}\n"
    "    - {op: normalize, mean: [0.485, 0.456, 0.406], std: [0.229, 0.224, 0.225]}\n"
    "    - {op: to_chw}\n"
    "  batch: {samples: 32, shuffle: full}\n";

enum weir_status shared_open(struct shared *shared, const char *directory, double scale,
                             struct weir_error *err)
{
    WEIR_AUTO_FREE char *platform = weir_format("%s/shared", directory);
    *shared = (struct shared){
        .corpus = {.directory = weir_format("%s/shared_pictures", directory),
                   .samples = (size_t)(PICTURES * scale) * WORKLOAD_STRIDE + WORKLOAD_STRIDE}};
    shared->workload = (struct workload){.corpus = &shared->corpus};
    WEIR_AUTO_FREE char *source = weir_format(PICTURES_SOURCE, shared->corpus.directory);
    enum weir_status status = pictures_write(&shared->corpus, &PICTURE, err);
    if (status == WEIR_OK)
        status = weir_make_directories(platform, 0755, err);
    if (status == WEIR_OK)
        status = rig_start(platform, WORKERS, &shared->rig, err);
    if (status == WEIR_OK)
        status = workload_prepare(&shared->workload, shared->rig, "shared", source, SECTION, err);
    return status;
}

void shared_close(struct shared *shared)
{
    workload_fini(&shared->workload);
    corpus_fini(&shared->corpus);
    rig_stop(shared->rig);
}

/* ---- trainers ---- */

struct trainer {
    const struct shared *shared;
    uint64_t job;
    enum role role;
    pthread_t thread;
    uint64_t batches;
    struct weir_buf state; /* to come back with */
    int64_t begun_ns, ended_ns;
    struct weir_client_error error; /* "": none */
};

static void pause_for(int64_t ns)
{
    nanosleep(&(struct timespec){.tv_sec = ns / NS_PER_S, .tv_nsec = ns % NS_PER_S}, NULL);
}

static uint64_t batches_of(const struct trainer *trainer)
{
    return trainer->shared->workload.set / BATCH;
}

/* Takes up to `most` batches. */
static enum weir_client_status take(struct trainer *trainer, struct weir_client *client,
                                    uint64_t most)
{
    struct weir_batch *batch;
    enum weir_client_status status = WEIR_CLIENT_OK;
    for (; most > 0; most--) {
        status = weir_client_next(client, PATIENCE_MS, &batch, &trainer->error);
        if (status != WEIR_CLIENT_OK)
            break;
        if (trainer->batches++ == 0)
            trainer->begun_ns = weir_now_ns();
        pause_for(STEP_NS);
        weir_client_consumed(client, batch->number, NULL);
        weir_batch_release(batch);
    }
    trainer->ended_ns = weir_now_ns();
    return status;
}

static bool finish(struct trainer *trainer, struct weir_client *client)
{
    const void *state;
    size_t size;
    return weir_client_state(client, &state, &size, &trainer->error) == WEIR_CLIENT_OK &&
           weir_client_commit(client, state, size, 1, PATIENCE_MS, &trainer->error) ==
               WEIR_CLIENT_OK;
}

static struct weir_client *open_client(struct trainer *trainer)
{
    struct weir_client_options options = WEIR_CLIENT_OPTIONS_INIT;
    struct weir_client *client = NULL;
    options.run = trainer->job;
    options.socket_dir = rig_socket_dir(trainer->shared->rig);
    options.open_timeout_ms = PATIENCE_MS;
    options.state = trainer->state.size > 0 ? trainer->state.at : NULL;
    options.state_size = trainer->state.size;
    return weir_client_open(&options, &client, &trainer->error) == WEIR_CLIENT_OK ? client : NULL;
}

/* Returns another client, with the state that the first one had a few batches ago. */
static struct weir_client *die_and_return(struct trainer *trainer, struct weir_client *client)
{
    const void *state;
    size_t size;
    if (weir_client_state(client, &state, &size, &trainer->error) == WEIR_CLIENT_OK)
        weir_buf_append(&trainer->state, state, size);
    (void)take(trainer, client, LOST);
    weir_client_close(client);
    return open_client(trainer);
}

static void *train(void *owner)
{
    struct trainer *trainer = owner;
    uint64_t some = batches_of(trainer) / 4;
    if (trainer->role == COMES_LATE)
        pause_for((int64_t)batches_of(trainer) / 2 * STEP_NS);
    struct weir_client *client = open_client(trainer);
    bool is_good = client != NULL && take(trainer, client, some) == WEIR_CLIENT_OK;
    if (is_good && trainer->role == STOPS)
        pause_for((int64_t)STOP_S * NS_PER_S);
    if (is_good && trainer->role == DIES)
        client = die_and_return(trainer, client);
    is_good = is_good && client != NULL && take(trainer, client, UINT64_MAX) == WEIR_CLIENT_END &&
              finish(trainer, client);
    if (is_good)
        trainer->error.text[0] = '\0';
    weir_client_close(client);
    weir_buf_fini(&trainer->state);
    return NULL;
}

/* ---- a run ---- */

static enum weir_status start_all(struct shared *shared, struct trainer *trainers, size_t jobs,
                                  bool is_disturbed, struct weir_error *err)
{
    for (size_t i = 0; i < jobs; i++) {
        enum role role = is_disturbed && i < STEADY ? (enum role)i : STEADY;
        trainers[i] = (struct trainer){.shared = shared, .job = ++shared->jobs, .role = role};
        enum weir_status status = workload_open(
            &shared->workload, shared->rig,
            &(struct workload_job){.number = trainers[i].job, .seed = WORKLOAD_SEED}, err);
        if (status != WEIR_OK)
            return status;
    }
    for (size_t i = 0; i < jobs; i++)
        weir_require(pthread_create(&trainers[i].thread, NULL, train, &trainers[i]) == 0);
    return WEIR_OK;
}

static enum weir_status check_audit(struct shared *shared, const struct trainer *trainer,
                                    struct weir_error *err)
{
    struct msg_job_is is;
    const struct msg_job_request ask = {.job = trainer->job};
    const struct rig_call call = {RIG_DISPATCHER, MSG_job_request, &ask, MSG_job_is};
    if (trainer->error.text[0] != '\0')
        return weir_fail(err, WEIR_IO, "job %lu: %s", trainer->job, trainer->error.text);
    enum weir_status status = rig_request(shared->rig, &call, &is, err);
    if (status == WEIR_OK && (is.lost > 0 || is.duplicated > 0 || is.delivered != is.set))
        status = weir_fail(err, WEIR_IO, "job %lu: %lu of %lu delivered, %lu lost, %lu duplicated",
                           trainer->job, is.delivered, is.set, is.lost, is.duplicated);
    rig_tell(shared->rig, RIG_DISPATCHER, MSG_job_close,
             &(struct msg_job_close){.job = trainer->job});
    return status;
}

enum weir_status shared_run(struct shared *shared, size_t jobs, bool is_disturbed,
                            struct shared_taken *ret_taken, struct weir_error *err)
{
    struct trainer trainers[SHARED_JOBS_MAX];
    int64_t before_ns = rig_workers_cpu_ns(shared->rig, WORKERS);
    uint64_t batches = 0;
    double slowest = 0;
    enum weir_status status = start_all(shared, trainers, jobs, is_disturbed, err);
    for (size_t i = 0; status == WEIR_OK && i < jobs; i++)
        pthread_join(trainers[i].thread, NULL);
    int64_t cpu_ns = rig_workers_cpu_ns(shared->rig, WORKERS) - before_ns;
    for (size_t i = 0; status == WEIR_OK && i < jobs; i++) {
        const struct trainer *trainer = &trainers[i];
        double rate =
            (double)trainer->batches * 1e9 / (double)(trainer->ended_ns - trainer->begun_ns);
        batches += trainer->batches;
        if (trainer->role == STEADY && (slowest == 0 || rate < slowest))
            slowest = rate;
        status = check_audit(shared, trainer, err);
    }
    *ret_taken = (struct shared_taken){.batches_per_cpu_s = (double)batches * 1e9 / (double)cpu_ns,
                                       .batches_per_s = slowest};
    return status;
}
