/* See shared.h. */
#include "benchmarks/reuse/shared.h"

#include "core/base/clock.h"
#include "core/base/file.h"
#include "tests/support/jpeg_picture.h"
#include "trainer_client/include/weir/client.h"

#include <pthread.h>
#include <string.h>
#include <time.h>

enum {
    PICTURES = 2048,
    DRAWN = 16,
    WORKERS = 2,
    STEP_NS = 150 * 1000 * 1000, /* several times what a worker needs for a batch */
    PATIENCE_MS = 60000,
};

static const char SOURCE[] =
    "    source: {path: %s, format: files, import: reference, settle: 0s}\n"
    "    time: {from: mtime}\n";
static const char SECTION[] =
    "  operators:\n"
    "    - {op: decode_jpeg}\n"
    "    - {op: random_resized_crop, size: 224}\n"
    "    - {op: normalize, mean: [0.485, 0.456, 0.406], std: [0.229, 0.224, 0.225]}\n"
    "    - {op: to_chw}\n"
    "  batch: {samples: 32, shuffle: full}\n";

static enum weir_status write_pictures(const struct corpus *corpus, struct weir_error *err)
{
    struct weir_buf drawn[DRAWN] = {{0}};
    enum weir_status status = weir_make_directories(corpus->directory, 0755, err);
    for (size_t i = 0; i < DRAWN; i++) {
        const struct jpeg_picture picture = {
            .height = 375, .width = 500, .seed = i, .quality = 85, .components = 3, .noise = 12};
        jpeg_picture_write(&picture, &drawn[i]);
    }
    for (size_t i = 0; i < corpus->samples && status == WEIR_OK; i++) {
        WEIR_AUTO_FREE char *path = weir_format("%s/%05zu.jpg", corpus->directory, i);
        status = weir_file_write_atomic(path, weir_buf_view(&drawn[i % DRAWN]), err);
    }
    for (size_t i = 0; i < DRAWN; i++)
        weir_buf_fini(&drawn[i]);
    return status;
}

enum weir_status shared_open(struct shared *shared, const char *directory, double scale,
                             struct weir_error *err)
{
    WEIR_AUTO_FREE char *platform = weir_format("%s/shared", directory);
    *shared = (struct shared){
        .corpus = {.directory = weir_format("%s/shared_pictures", directory),
                   .samples = (size_t)(PICTURES * scale) * WORKLOAD_STRIDE + WORKLOAD_STRIDE}};
    shared->workload = (struct workload){.corpus = &shared->corpus};
    WEIR_AUTO_FREE char *source = weir_format(SOURCE, shared->corpus.directory);
    enum weir_status status = write_pictures(&shared->corpus, err);
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
    pthread_t thread;
    uint64_t batches;
    int64_t begun_ns, ended_ns;
    struct weir_client_error error; /* "": none */
};

static void step(void)
{
    nanosleep(&(struct timespec){.tv_nsec = STEP_NS}, NULL);
}

static bool take_all(struct trainer *trainer, struct weir_client *client)
{
    struct weir_batch *batch;
    enum weir_client_status status;
    while ((status = weir_client_next(client, PATIENCE_MS, &batch, &trainer->error)) ==
           WEIR_CLIENT_OK) {
        if (trainer->batches++ == 0)
            trainer->begun_ns = weir_now_ns();
        step();
        weir_client_consumed(client, batch->number, NULL);
        weir_batch_release(batch);
    }
    trainer->ended_ns = weir_now_ns();
    return status == WEIR_CLIENT_END;
}

static bool finish(struct trainer *trainer, struct weir_client *client)
{
    const void *state;
    size_t size;
    return weir_client_state(client, &state, &size, &trainer->error) == WEIR_CLIENT_OK &&
           weir_client_commit(client, state, size, 1, PATIENCE_MS, &trainer->error) ==
               WEIR_CLIENT_OK;
}

static void *train(void *owner)
{
    struct trainer *trainer = owner;
    struct weir_client_options options = WEIR_CLIENT_OPTIONS_INIT;
    struct weir_client *client = NULL;
    options.run = trainer->job;
    options.socket_dir = rig_socket_dir(trainer->shared->rig);
    bool is_good = weir_client_open(&options, &client, &trainer->error) == WEIR_CLIENT_OK &&
                   take_all(trainer, client) && finish(trainer, client);
    if (is_good)
        trainer->error.text[0] = '\0';
    weir_client_close(client);
    return NULL;
}

/* ---- a run ---- */

static enum weir_status start_all(struct shared *shared, struct trainer *trainers, size_t jobs,
                                  struct weir_error *err)
{
    for (size_t i = 0; i < jobs; i++) {
        trainers[i] = (struct trainer){.shared = shared, .job = ++shared->jobs};
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

enum weir_status shared_run(struct shared *shared, size_t jobs, struct shared_taken *ret_taken,
                            struct weir_error *err)
{
    struct trainer trainers[SHARED_JOBS_MAX];
    int64_t before_ns = rig_workers_cpu_ns(shared->rig, WORKERS);
    uint64_t batches = 0;
    double slowest = 0;
    enum weir_status status = start_all(shared, trainers, jobs, err);
    for (size_t i = 0; status == WEIR_OK && i < jobs; i++)
        pthread_join(trainers[i].thread, NULL);
    int64_t cpu_ns = rig_workers_cpu_ns(shared->rig, WORKERS) - before_ns;
    for (size_t i = 0; status == WEIR_OK && i < jobs; i++) {
        const struct trainer *trainer = &trainers[i];
        double rate =
            (double)trainer->batches * 1e9 / (double)(trainer->ended_ns - trainer->begun_ns);
        batches += trainer->batches;
        slowest = i == 0 || rate < slowest ? rate : slowest;
        status = check_audit(shared, trainer, err);
    }
    *ret_taken = (struct shared_taken){.batches_per_cpu_s = (double)batches * 1e9 / (double)cpu_ns,
                                       .batches_per_s = slowest};
    return status;
}
