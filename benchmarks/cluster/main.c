/* bench_cluster: what leaves a host (C15, C21). */
#include "benchmarks/cluster/curve.h"
#include "benchmarks/cluster/far.h"
#include "benchmarks/cluster/far_storage.h"
#include "benchmarks/cluster/grants.h"
#include "benchmarks/cluster/link.h"
#include "benchmarks/cluster/trips.h"
#include "benchmarks/harness.h"
#include "benchmarks/pool/crowd.h"

#include "core/base/clock.h"
#include "core/base/memory.h"

#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>

enum { BATCHES = 200, CURVE_BYTES = 128 << 20, COMMITS = 1000, HOLDS = 10000, GRANTS = 640 };

struct cluster_bench {
    struct cluster_link *link;   /* NULL: not asked for yet */
    struct cluster_curve *curve; /* the same */
    struct far *far;             /* the same */
    struct far_storage *storage; /* the same */
    struct pool_crowd *crowd;    /* the same */
    struct grants *grants;       /* the same */
    char *crowd_directory, *grants_directory;
    const char *directory;
    double scale;
    uint64_t batches;
};

/* Later this process runs as another user. */
static enum weir_status make_open_directory(const char *path, struct weir_error *err)
{
    if (mkdir(path, 0700) != 0 || chmod(path, 01777) != 0)
        return weir_fail(err, WEIR_IO, "cannot make %s", path);
    return WEIR_OK;
}

static enum weir_status open_cluster(const char *directory, double scale, void **ret_state,
                                     struct weir_error *err)
{
    struct cluster_bench *bench = weir_calloc(1, sizeof(*bench));
    bench->directory = directory;
    bench->batches = (uint64_t)(BATCHES * scale) + 1;
    bench->scale = scale;
    bench->crowd_directory = weir_format("%s/crowd", directory);
    bench->grants_directory = weir_format("%s/grants", directory);
    *ret_state = bench;
    enum weir_status status = make_open_directory(bench->crowd_directory, err);
    return status == WEIR_OK ? make_open_directory(bench->grants_directory, err) : status;
}

static void close_cluster(void *state)
{
    struct cluster_bench *bench = state;
    cluster_link_close(bench->link);
    cluster_curve_close(bench->curve);
    far_storage_close(bench->storage);
    far_close(bench->far);
    pool_crowd_disperse(bench->crowd);
    grants_close(bench->grants);
    free(bench->crowd_directory);
    free(bench->grants_directory);
    free(bench);
}

static enum weir_status prepare_link(void *state, struct weir_error *err)
{
    struct cluster_bench *bench = state;
    return bench->link != NULL ? WEIR_OK : cluster_link_open(&bench->link, err);
}

static double rate_of(const struct cluster_bench *bench, int64_t begun_ns)
{
    return (double)bench->batches * LINK_BATCH_BYTES / 1e6 /
           ((double)(weir_now_ns() - begun_ns) / 1e9);
}

static enum weir_status fetch_batches(void *state, double *ret_rate, struct weir_error *err)
{
    struct cluster_bench *bench = state;
    int64_t begun_ns = weir_now_ns();
    enum weir_status status = cluster_link_batches(bench->link, bench->batches, err);
    *ret_rate = rate_of(bench, begun_ns);
    return status;
}

static enum weir_status fetch_plain(void *state, double *ret_rate, struct weir_error *err)
{
    struct cluster_bench *bench = state;
    int64_t begun_ns = weir_now_ns();
    enum weir_status status =
        cluster_link_plain(bench->link, bench->batches * LINK_BATCH_BYTES, err);
    *ret_rate = rate_of(bench, begun_ns);
    return status;
}

/* ---- keys against what they are made of ---- */

static enum weir_status prepare_curve(void *state, struct weir_error *err)
{
    struct cluster_bench *bench = state;
    return bench->curve != NULL ? WEIR_OK : cluster_curve_open(&bench->curve, err);
}

typedef void carry_fn(struct cluster_curve *curve, uint64_t count, size_t size);

static enum weir_status carry(struct cluster_bench *bench, carry_fn *fn, size_t size,
                              double *ret_rate)
{
    uint64_t count = (uint64_t)(CURVE_BYTES * bench->scale) / size + 1;
    int64_t begun_ns = weir_now_ns();
    fn(bench->curve, count, size);
    *ret_rate = (double)(count * size) / 1e6 / ((double)(weir_now_ns() - begun_ns) / 1e9);
    return WEIR_OK;
}

/* ours_SIZE() and theirs_SIZE(). */
#define CURVE(name, size)                                                                        \
    static enum weir_status ours_##name(void *state, double *ret_rate, struct weir_error *err)   \
    {                                                                                            \
        (void)err;                                                                               \
        return carry(state, cluster_curve_batches, (size), ret_rate);                            \
    }                                                                                            \
    static enum weir_status theirs_##name(void *state, double *ret_rate, struct weir_error *err) \
    {                                                                                            \
        (void)err;                                                                               \
        return carry(state, cluster_curve_bare, (size), ret_rate);                               \
    }
CURVE(64k, 64 << 10)
CURVE(1m, 1 << 20)
CURVE(16m, 16 << 20)

#define CURVE_FIGURE(name_)                                                                       \
    {                                                                                             \
        .name = "cluster.curve." #name_, .against = "a bare pair of ZeroMQ's sockets with CURVE", \
        .unit = "MB/s", .bar = 0.5, .prepare = prepare_curve, .ours = ours_##name_,               \
        .theirs = theirs_##name_                                                                  \
    }

/* ---- a Postgres that is far away ---- */

static enum weir_status prepare_far(void *state, struct weir_error *err)
{
    struct cluster_bench *bench = state;
    return bench->far != NULL ? WEIR_OK : far_open(bench->directory, &bench->far, err);
}

static enum weir_status answer(struct cluster_bench *bench, enum far_message message,
                               double *ret_rate, struct weir_error *err)
{
    size_t commits = (size_t)(COMMITS * bench->scale) + 1;
    enum weir_status status = far_run(bench->far, commits, err);
    if (status == WEIR_OK)
        *ret_rate = 1e9 / (double)far_p99_ns(bench->far, message);
    return status;
}

static enum weir_status answer_commits(void *state, double *ret_rate, struct weir_error *err)
{
    return answer(state, FAR_COMMITS, ret_rate, err);
}

static enum weir_status answer_consumers(void *state, double *ret_rate, struct weir_error *err)
{
    return answer(state, FAR_CLIENT_BEATS, ret_rate, err);
}

static enum weir_status answer_workers(void *state, double *ret_rate, struct weir_error *err)
{
    return answer(state, FAR_WORKER_BEATS, ret_rate, err);
}

static enum weir_status prepare_storage(void *state, struct weir_error *err)
{
    struct cluster_bench *bench = state;
    enum weir_status status = prepare_far(state, err);
    if (status != WEIR_OK || bench->storage != NULL)
        return status;
    return far_storage_open(bench->directory, far_conninfo(bench->far), &bench->storage, err);
}

static enum weir_status answer_of_storage(struct cluster_bench *bench, enum far_question question,
                                          double *ret_rate, struct weir_error *err)
{
    size_t holds = (size_t)(HOLDS * bench->scale) + 1;
    enum weir_status status = far_storage_run(bench->storage, holds, err);
    if (status == WEIR_OK)
        *ret_rate = 1e9 / (double)far_storage_p99_ns(bench->storage, question);
    return status;
}

static enum weir_status answer_holds(void *state, double *ret_rate, struct weir_error *err)
{
    return answer_of_storage(state, FAR_HOLDS, ret_rate, err);
}

static enum weir_status answer_locates(void *state, double *ret_rate, struct weir_error *err)
{
    return answer_of_storage(state, FAR_LOCATES, ret_rate, err);
}

static enum weir_status make_trips(void *state, double *ret_rate, struct weir_error *err)
{
    struct cluster_bench *bench = state;
    double trips = 0;
    enum weir_status status = trips_count(bench->directory, far_conninfo(bench->far), &trips, err);
    if (status == WEIR_OK)
        *ret_rate = 1 / trips;
    return status;
}

static enum weir_status twelve(void *state, double *ret_rate, struct weir_error *err)
{
    (void)state;
    (void)err;
    *ret_rate = 1.0 / 12;
    return WEIR_OK;
}

static enum weir_status twenty_a_second(void *state, double *ret_rate, struct weir_error *err)
{
    (void)state;
    (void)err;
    *ret_rate = 20;
    return WEIR_OK;
}

#define FAR_FIGURE(name_, prepare_, ours_)                                                      \
    {                                                                                           \
        .name = "cluster.far." name_, .against = "50 ms, for 99 of 100 answers", .unit = "1/s", \
        .bar = 1, .prepare = (prepare_), .ours = (ours_), .theirs = twenty_a_second             \
    }

/* ---- thousands of workers elsewhere ---- */

static enum weir_status prepare_crowd(void *state, struct weir_error *err)
{
    struct cluster_bench *bench = state;
    if (bench->crowd != NULL)
        return WEIR_OK;
    enum weir_status status = pool_crowd_gather_elsewhere(
        bench->crowd_directory, (size_t)(POOL_CROWD * bench->scale), &bench->crowd, err);
    if (status == WEIR_OK)
        (void)fprintf(stderr, "memory for a worker: storage %.1f kB, dispatcher %.1f kB\n",
                      pool_crowd_memory(bench->crowd, RIG_STORAGE) / 1e3,
                      pool_crowd_memory(bench->crowd, RIG_DISPATCHER) / 1e3);
    return status;
}

static enum weir_status load_of(struct cluster_bench *bench, enum rig_service service,
                                double *ret_rate, struct weir_error *err)
{
    double cores = 0;
    enum weir_status status = pool_crowd_load(bench->crowd, service, &cores, err);
    *ret_rate = 1 / cores;
    return status;
}

static enum weir_status hold_elsewhere(void *state, double *ret_rate, struct weir_error *err)
{
    return load_of(state, RIG_STORAGE, ret_rate, err);
}

static enum weir_status beat_elsewhere(void *state, double *ret_rate, struct weir_error *err)
{
    return load_of(state, RIG_DISPATCHER, ret_rate, err);
}

static enum weir_status restart_under(struct cluster_bench *bench, struct pool_return *ret_return,
                                      struct weir_error *err)
{
    enum weir_status status = pool_crowd_return(bench->crowd, ret_return, err);
    if (status == WEIR_OK)
        (void)fprintf(stderr,
                      "back after %.1f s, of which %.1f s until the services have the keys; "
                      "processor for a worker's return: storage %.2f ms, dispatcher %.2f ms, the "
                      "busiest thread of these %.2f ms; the worker itself %.2f ms\n",
                      ret_return->seconds, ret_return->keyed_seconds, ret_return->storage_ms,
                      ret_return->dispatcher_ms, ret_return->busiest_ms, ret_return->crowd_ms);
    return status;
}

static enum weir_status return_all(void *state, double *ret_rate, struct weir_error *err)
{
    struct pool_return returned = {0};
    enum weir_status status = restart_under(state, &returned, err);
    *ret_rate = 1 / returned.seconds;
    return status;
}

/* The same, reckoned for workers that have machines of their own. */
static enum weir_status return_to_services(void *state, double *ret_rate, struct weir_error *err)
{
    struct pool_return returned = {0};
    enum weir_status status = restart_under(state, &returned, err);
    *ret_rate = 1 / (returned.busiest_ms / 1e3 * POOL_CROWD);
    return status;
}

static enum weir_status three_tenths(void *state, double *ret_rate, struct weir_error *err)
{
    (void)state;
    (void)err;
    *ret_rate = 1 / 0.3;
    return WEIR_OK;
}

static enum weir_status ten_seconds(void *state, double *ret_rate, struct weir_error *err)
{
    (void)state;
    (void)err;
    *ret_rate = 0.1;
    return WEIR_OK;
}

#define CROWD_FIGURE(name_, against_, unit_, runs_, ours_, theirs_)                         \
    {                                                                                       \
        .name = "cluster.crowd." name_, .against = (against_), .unit = (unit_), .bar = 1,   \
        .runs_max = (runs_), .prepare = prepare_crowd, .ours = (ours_), .theirs = (theirs_) \
    }

/* ---- objects for workers elsewhere ---- */

static enum weir_status prepare_grants(void *state, struct weir_error *err)
{
    struct cluster_bench *bench = state;
    size_t samples = (size_t)(GRANTS * bench->scale) + 1;
    return bench->grants != NULL
               ? WEIR_OK
               : grants_open(bench->grants_directory, samples, &bench->grants, err);
}

static enum weir_status ask_for_grants(void *state, double *ret_rate, struct weir_error *err)
{
    const struct cluster_bench *bench = state;
    return grants_ask(bench->grants, ret_rate, err);
}

static enum weir_status ask_for_bytes(void *state, double *ret_rate, struct weir_error *err)
{
    const struct cluster_bench *bench = state;
    return grants_read(bench->grants, ret_rate, err);
}

/* Those of the link come last: they leave this network namespace. */
static const struct bench_figure FIGURES[] = {
    CURVE_FIGURE(64k),
    CURVE_FIGURE(1m),
    CURVE_FIGURE(16m),
    FAR_FIGURE("commits", prepare_far, answer_commits),
    FAR_FIGURE("beats", prepare_far, answer_consumers),
    FAR_FIGURE("workers", prepare_far, answer_workers),
    FAR_FIGURE("holds", prepare_storage, answer_holds),
    FAR_FIGURE("locates", prepare_storage, answer_locates),
    {.name = "cluster.far.trips",
     .against = "12 round trips to Postgres, from a trigger to its model",
     .unit = "1/trips",
     .bar = 1,
     .runs_max = 1,
     .prepare = prepare_far,
     .ours = make_trips,
     .theirs = twelve},
    CROWD_FIGURE("cores.storage",
                 "0.3 cores; 10,000 simulated workers that hold, over TCP with keys", "1/cores", 3,
                 hold_elsewhere, three_tenths),
    CROWD_FIGURE("cores.dispatcher", "0.3 cores; the same, who beat", "1/cores", 3, beat_elsewhere,
                 three_tenths),
    CROWD_FIGURE("return", "10 s; until the same are known again when both were killed", "1/s", 3,
                 return_all, ten_seconds),
    CROWD_FIGURE(
        "return.services",
        "10 s; processor of the busiest thread of a service meanwhile, reckoned for 10,000", "1/s",
        3, return_to_services, ten_seconds),
    {.name = "cluster.grants",
     .against = "samples of 100 kB of a bucket that storage reads for a worker elsewhere",
     .unit = "samples a second of storage's processor",
     .bar = 1,
     .prepare = prepare_grants,
     .ours = ask_for_grants,
     .theirs = ask_for_bytes},
    {.name = "cluster.link.batches",
     .against = "plain TCP over the same link of 1 Gbit/s and 1 ms",
     .unit = "MB/s",
     .bar = 0.9,
     .prepare = prepare_link,
     .ours = fetch_batches,
     .theirs = fetch_plain},
};

static const struct bench CLUSTER = {
    .name = "cluster",
    .summary =
        "batches under keys between two network namespaces and over the loopback; a Postgres that is "
        "5 ms away; grants of objects",
    .figures = FIGURES,
    .figure_count = WEIR_COUNT(FIGURES),
    .open = open_cluster,
    .close = close_cluster,
};

int main(int argc, char **argv)
{
    return bench_main(&CLUSTER, argc, argv);
}
