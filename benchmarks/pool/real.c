/* Pools of real workers: see real.h. */
#include "benchmarks/pool/real.h"

#include "benchmarks/slice/pictures.h"
#include "core/base/clock.h"
#include "core/base/file.h"

#include <stdlib.h>
#include <string.h>

enum {
    LINES = 6400, /* 25 batches an epoch */
    PICTURES = 512,
    EPOCHS_WAITING = 3, /* for each worker, so that all pools take equally long */
    EPOCHS_COMPUTING = 8,
};

static const struct jpeg_picture PICTURE = {
    .height = 375, .width = 500, .quality = 85, .components = 3, .noise = 12};

static const char LINES_SOURCE[] =
    "    source: {path: %s, format: csv, header: false, import: reference, settle: 0s}\n"
    "    time: {from: file_name, pattern: \"day_%%Y-%%m-%%d\"}\n";
static const char *const SECTIONS[REAL_JOBS] = {
    [REAL_WAITING] = "  operators: [{op: exec, program: even}]\n"
                     "  batch: {samples: 128, shuffle: full, order: relaxed, group: 1}\n"
                     "  plan: {share: none}\n",
    [REAL_COMPUTING] = "  operators: [{op: decode_jpeg}, {op: random_resized_crop, size: 224}]\n"
                       "  batch: {samples: 16, shuffle: full, order: relaxed, group: 1}\n"
                       "  plan: {share: none}\n",
};
static const char *const NAMES[REAL_JOBS] = {"waiting", "computing"};
static const uint32_t EPOCHS[REAL_JOBS] = {EPOCHS_WAITING, EPOCHS_COMPUTING};

void real_allow_program(void)
{
    static const char PROGRAM[] = WEIR_SOURCE_DIR "/benchmarks/preprocess/slow_samples.py";
    WEIR_AUTO_FREE char *allowed =
        weir_format("{even: {command: [/usr/bin/python3, %s, even]}}", PROGRAM);
    weir_require(setenv("WEIR_PROGRAMS", allowed, 1) == 0);
}

/* ---- pools ---- */

static enum weir_status make_corpora(struct real *real, struct weir_error *err)
{
    struct corpus *lines = &real->corpora[REAL_WAITING], *pictures = &real->corpora[REAL_COMPUTING];
    if (pictures->samples > 0)
        return WEIR_OK;
    WEIR_AUTO_FREE char *directory = weir_format("%s/lines", real->directory);
    enum weir_status status = corpus_make_lines(directory, LINES, lines, err);
    pictures->directory = weir_format("%s/pictures", real->directory);
    pictures->samples = PICTURES * WORKLOAD_STRIDE;
    return status == WEIR_OK ? pictures_write(pictures, &PICTURE, err) : status;
}

static void close_pool(struct real_pool *pool)
{
    for (size_t i = 0; i < REAL_JOBS; i++)
        workload_fini(&pool->work[i]);
    rig_stop(pool->rig);
    *pool = (struct real_pool){0};
}

static enum weir_status prepare_work(struct real *real, struct real_pool *pool, enum real_job job,
                                     struct weir_error *err)
{
    struct workload *work = &pool->work[job];
    const char *directory = real->corpora[job].directory;
    WEIR_AUTO_FREE char *source = job == REAL_WAITING ? weir_format(LINES_SOURCE, directory)
                                                      : weir_format(PICTURES_SOURCE, directory);
    work->corpus = &real->corpora[job];
    double epochs = (double)EPOCHS[job] * pool->workers * real->scale;
    work->epochs = epochs > 1 ? (uint32_t)epochs : 1;
    return workload_prepare(work, pool->rig, NAMES[job], source, SECTIONS[job], err);
}

static enum weir_status open_pool(struct real *real, struct real_pool *pool, unsigned workers,
                                  struct weir_error *err)
{
    if (pool->workers == workers)
        return WEIR_OK;
    close_pool(pool);
    WEIR_AUTO_FREE char *directory = weir_format("%s/pool_of_%u", real->directory, workers);
    enum weir_status status = weir_make_directories(directory, 0755, err);
    if (status == WEIR_OK)
        status = rig_start(directory, workers, &pool->rig, err);
    pool->workers = workers;
    for (enum real_job job = 0; job < REAL_JOBS && status == WEIR_OK; job++)
        status = prepare_work(real, pool, job, err);
    if (status != WEIR_OK)
        close_pool(pool);
    return status;
}

enum weir_status real_need(struct real *real, unsigned workers, struct weir_error *err)
{
    enum weir_status status = make_corpora(real, err);
    if (status == WEIR_OK)
        status = open_pool(real, &real->one, 1, err);
    return status == WEIR_OK ? open_pool(real, &real->many, workers, err) : status;
}

void real_fini(struct real *real)
{
    close_pool(&real->one);
    close_pool(&real->many);
    for (size_t i = 0; i < REAL_JOBS; i++)
        corpus_fini(&real->corpora[i]);
}

/* ---- measuring ---- */

static double seconds_since(int64_t before_ns, int64_t now_ns)
{
    return (double)(now_ns - before_ns) / 1e9;
}

/* All workers begin at once, and their first batches come at once: those are not counted. */
enum weir_status real_measure(struct real_pool *pool, enum real_job job, struct real_run *ret_run,
                              struct weir_error *err)
{
    struct workload_run run = {.job = ++pool->jobs};
    struct workload *work = &pool->work[job];
    int64_t workers_ns = rig_workers_cpu_ns(pool->rig, pool->workers), taker_ns = weir_cpu_ns();
    enum weir_status status = workload_run_there(work, pool->rig, &run, err);
    if (status == WEIR_OK)
        status = workload_check(work, &run.tally, err);
    if (status != WEIR_OK)
        return status;
    double batches = (double)run.tally.batches;
    *ret_run = (struct real_run){
        .job = job,
        .workers = pool->workers,
        .rate = (batches - pool->workers) / (run.seconds - run.first_s),
        .worker_cpu_s =
            seconds_since(workers_ns, rig_workers_cpu_ns(pool->rig, pool->workers)) / batches,
        .taker_cpu_s = seconds_since(taker_ns, weir_cpu_ns()) / batches,
    };
    return WEIR_OK;
}
