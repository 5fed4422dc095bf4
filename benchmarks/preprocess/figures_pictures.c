/* JPEG pictures of 500 x 375 into f32 tensors of 3 x 224 x 224: through the service, in a plain loop, and
 * with PyTorch. */
#include "benchmarks/peers/peer.h"
#include "benchmarks/preprocess/bench.h"
#include "benchmarks/slice/pictures.h"
#include "core/base/clock.h"
#include "core/base/memory.h"
#include "core/wire/sample_set.h"

#include <string.h>

enum {
    COMPARED = 24,
};

static const struct jpeg_picture PICTURE = {
    .height = 375, .width = 500, .quality = 90, .components = 3, .noise = 40};

/* ---- the pictures ---- */

static char *path_of(const struct corpus *corpus, size_t picture)
{
    return weir_format("%s/%05zu.jpg", corpus->directory, picture);
}

/* Fails unless the plain loop makes the same pictures as Weir's operators. */
static enum weir_status compare(struct preprocess_bench *bench, struct weir_error *err)
{
    for (size_t i = 0; i < COMPARED; i++) {
        WEIR_AUTO_FREE char *path = path_of(&bench->pictures, i);
        const struct plain_picture picture = {.path = path, .id = i, .region = i % 2 == 0};
        double apart = 0;
        enum weir_status status = plain_compare(bench->plain, &picture, 0, &apart, err);
        if (status != WEIR_OK)
            return status;
        if (apart > 16 / 255.0 / 0.224) /* colours at the edges of a region that has no margin */
            return weir_fail(err, WEIR_INTERNAL, "%s: the plain loop makes another picture, %g off",
                             path, apart);
    }
    return WEIR_OK;
}

enum weir_status prepare_pictures(void *state, struct weir_error *err)
{
    struct preprocess_bench *bench = state;
    if (bench->plain != NULL)
        return WEIR_OK;
    bench->pictures = (struct corpus){
        .directory = weir_format("%s/pictures", bench->directory),
        .samples = (size_t)(BENCH_PICTURES * bench->scale) + WORKLOAD_STRIDE,
    };
    bench->plain = plain_new(WORKLOAD_SEED);
    bench->picture_batches.corpus = &bench->pictures;
    bench->picture_batches.epochs = BENCH_PICTURE_EPOCHS;
    WEIR_AUTO_FREE char *source = weir_format(PICTURES_SOURCE, bench->pictures.directory);
    WEIR_AUTO_FREE char *section = weir_format("  operators: %s\n"
                                               "  batch: {samples: %d, shuffle: full}\n",
                                               PLAIN_OPERATORS, PLAIN_BATCH);
    enum weir_status status = pictures_write(&bench->pictures, &PICTURE, err);
    if (status == WEIR_OK)
        status = compare(bench, err);
    if (status == WEIR_OK)
        status =
            workload_prepare(&bench->picture_batches, bench->rig, "pictures", source, section, err);
    return status;
}

void pictures_fini(struct preprocess_bench *bench)
{
    workload_fini(&bench->picture_batches);
    corpus_fini(&bench->pictures);
    plain_free(bench->plain);
    free(bench->torch);
}

/* ---- through the service ---- */

struct cost {
    double seconds, cpu_seconds; /* of the workers */
};

static enum weir_status deliver(struct preprocess_bench *bench, struct cost *ret_cost,
                                struct weir_error *err)
{
    struct workload_run run = {.job = ++bench->jobs};
    int64_t before_ns = rig_workers_cpu_ns(bench->rig, BENCH_WORKERS);
    enum weir_status status = workload_run_there(&bench->picture_batches, bench->rig, &run, err);
    ret_cost->seconds = run.seconds;
    ret_cost->cpu_seconds =
        (double)(rig_workers_cpu_ns(bench->rig, BENCH_WORKERS) - before_ns) / 1e9;
    return status == WEIR_OK ? workload_check(&bench->picture_batches, &run.tally, err) : status;
}

enum weir_status pictures_by_worker_cpu(void *state, double *ret_rate, struct weir_error *err)
{
    struct preprocess_bench *bench = state;
    struct cost cost = {0};
    enum weir_status status = deliver(bench, &cost, err);
    *ret_rate = (double)bench->picture_batches.samples / cost.cpu_seconds;
    return status;
}

enum weir_status pictures_by_time(void *state, double *ret_rate, struct weir_error *err)
{
    struct preprocess_bench *bench = state;
    struct cost cost = {0};
    enum weir_status status = deliver(bench, &cost, err);
    *ret_rate = (double)bench->picture_batches.samples / cost.seconds;
    return status;
}

/* ---- in a plain loop ---- */

/* Sample i of the set is picture WORKLOAD_STRIDE * i. */
static enum weir_status loop(struct preprocess_bench *bench, bool region, double *ret_rate,
                             struct weir_error *err)
{
    struct weir_sample_set set;
    enum weir_status status = weir_sample_set_open(bench->picture_batches.set_path, &set, err);
    if (status != WEIR_OK)
        return status;
    int64_t before_ns = weir_cpu_thread_ns();
    for (size_t i = 0; status == WEIR_OK && i < set.count; i++) {
        WEIR_AUTO_FREE char *path = path_of(&bench->pictures, i * WORKLOAD_STRIDE);
        const struct plain_picture picture = {.path = path, .id = set.ids[i], .region = region};
        status = plain_make(bench->plain, &picture, i % PLAIN_BATCH, err);
    }
    *ret_rate = (double)set.count * 1e9 / (double)(weir_cpu_thread_ns() - before_ns);
    weir_sample_set_close(&set);
    return status;
}

enum weir_status pictures_whole(void *state, double *ret_rate, struct weir_error *err)
{
    return loop(state, false, ret_rate, err);
}

enum weir_status pictures_region(void *state, double *ret_rate, struct weir_error *err)
{
    return loop(state, true, ret_rate, err);
}

/* ---- with PyTorch ---- */

enum weir_status prepare_torch(void *state, struct weir_error *err)
{
    struct preprocess_bench *bench = state;
    enum weir_status status = prepare_pictures(state, err);
    if (status != WEIR_OK)
        return status;
    WEIR_AUTO_FREE char *arguments = weir_format("%s %d", bench->pictures.directory, PLAIN_BATCH);
    return peer_choose("torch", "pictures_torch.py", arguments, &bench->torch, err);
}

enum weir_status pictures_torch(void *state, double *ret_rate, struct weir_error *err)
{
    return peer_run("torch", ((struct preprocess_bench *)state)->torch, ret_rate, err);
}
