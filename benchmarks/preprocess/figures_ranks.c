/* Ranks that step together over rows of very different lengths: a step takes as long as the widest rectangle of any
 * of them, simulated by a pause in proportion. Ours is one job that is cut over the ranks; theirs are jobs of their
 * own, so that each rank gets batches of like length, but not of the length that the others have (the comparison of
 * coordinated reads in Audibert et al., "tf.data service", SoCC 2023). Each rank is a process. */
#include "benchmarks/preprocess/bench.h"

#include "core/base/clock.h"
#include "core/base/memory.h"
#include "trainer_client/include/weir/client.h"

#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum {
    RANKS_MAX = 8,
    STEPS = 300, /* fewer when the set ends */
    WARM_STEPS = 20,
    CELL_NS = 4000, /* of a step, for each cell of a rectangle: some 8 ms a step */
    PATIENCE_MS = 60000,
};

/* State of a group, in memory that its processes share. */
struct group {
    pthread_barrier_t barrier;
    uint64_t longest[RANKS_MAX]; /* rows in the batches of this step */
    uint64_t steps;              /* measured */
    int64_t began_ns, ended_ns;
    char failure[sizeof(((struct weir_client_error *)NULL)->text)]; /* of the first */
};

struct rank {
    struct group *group;
    uint32_t number, ranks;
    bool is_alone; /* in a job of its own */
    struct weir_client *client;
};

static void pause_for(uint64_t cells)
{
    int64_t ns = (int64_t)cells * CELL_NS;
    nanosleep(&(struct timespec){.tv_sec = ns / 1000000000, .tv_nsec = ns % 1000000000}, NULL);
}

/* Waits for all ranks; returns the width of the widest rectangle. */
static uint64_t meet(const struct rank *rank, uint64_t longest)
{
    struct group *group = rank->group;
    uint64_t widest = 0;
    group->longest[rank->number] = longest;
    pthread_barrier_wait(&group->barrier);
    for (uint32_t i = 0; i < rank->ranks; i++)
        widest = group->longest[i] > widest ? group->longest[i] : widest;
    pthread_barrier_wait(&group->barrier);
    return widest;
}

static enum weir_client_status step(const struct rank *rank, struct weir_client_error *error)
{
    struct weir_batch *batch;
    enum weir_client_status status = weir_client_next(rank->client, PATIENCE_MS, &batch, error);
    if (status != WEIR_CLIENT_OK)
        return status;
    uint64_t longest = batch->global_longest, widest = meet(rank, longest);
    bool is_alike = rank->is_alone || longest == widest;
    weir_client_consumed(rank->client, batch->number, NULL);
    weir_batch_release(batch);
    pause_for(widest * BENCH_RANK_SAMPLES);
    if (is_alike)
        return WEIR_CLIENT_OK;
    snprintf(error->text, sizeof(error->text), "ranks were told different widths");
    return WEIR_CLIENT_INTERNAL;
}

static bool run_rank(struct rank *rank, const struct weir_client_options *options,
                     struct weir_client_error *error)
{
    if (weir_client_open(options, &rank->client, error) != WEIR_CLIENT_OK)
        return false;
    enum weir_client_status status = WEIR_CLIENT_OK;
    uint64_t steps = 0;
    for (; status == WEIR_CLIENT_OK && steps < WARM_STEPS + STEPS; steps++) {
        if (steps == WARM_STEPS && rank->number == 0)
            rank->group->began_ns = weir_now_ns();
        status = step(rank, error);
    }
    if (rank->number == 0) {
        rank->group->steps = steps - WARM_STEPS;
        rank->group->ended_ns = weir_now_ns();
    }
    return status == WEIR_CLIENT_OK || status == WEIR_CLIENT_END;
}

/* The life of a rank's process. One that fails ends the group: nobody would meet the others. */
static void live(struct rank rank, const char *socket_dir, uint64_t job)
{
    struct weir_client_error error = {.text = ""};
    struct weir_client_options options = WEIR_CLIENT_OPTIONS_INIT;
    options.run = rank.is_alone ? job + rank.number : job;
    options.socket_dir = socket_dir;
    options.rank = rank.is_alone ? 0 : rank.number;
    options.ranks = rank.is_alone ? 1 : rank.ranks;
    if (run_rank(&rank, &options, &error))
        _exit(0);
    memcpy(rank.group->failure, error.text, sizeof(error.text));
    kill(0, SIGKILL);
}

static void start(struct rank rank, const char *socket_dir, uint64_t job, pid_t *processes)
{
    pid_t bench = getpid(), started = fork();
    weir_require(started >= 0);
    if (started == 0) {
        weir_require(prctl(PR_SET_PDEATHSIG, SIGKILL) == 0 && getppid() == bench);
        weir_require(setpgid(0, rank.number == 0 ? 0 : processes[0]) == 0);
        live(rank, socket_dir, job);
    }
    weir_require(setpgid(started, rank.number == 0 ? started : processes[0]) == 0);
    processes[rank.number] = started;
}

static enum weir_status wait_for_all(const struct group *group, const pid_t *processes,
                                     uint32_t ranks, struct weir_error *err)
{
    bool is_done = true;
    for (uint32_t i = 0; i < ranks; i++) {
        int how = -1;
        weir_require(waitpid(processes[i], &how, 0) == processes[i]);
        is_done = is_done && how == 0;
    }
    return is_done ? WEIR_OK : weir_fail(err, WEIR_INTERNAL, "a rank: %s", group->failure);
}

static struct group *new_group(uint32_t ranks)
{
    struct group *group =
        mmap(NULL, sizeof(*group), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    pthread_barrierattr_t shared;
    weir_require(group != MAP_FAILED && pthread_barrierattr_init(&shared) == 0);
    pthread_barrierattr_setpshared(&shared, PTHREAD_PROCESS_SHARED);
    weir_require(pthread_barrier_init(&group->barrier, &shared, ranks) == 0);
    return group;
}

/* Runs the ranks on what is open already. */
static enum weir_status run_group(struct preprocess_bench *bench, struct rank like, uint64_t job,
                                  double *ret_rate, struct weir_error *err)
{
    pid_t processes[RANKS_MAX];
    like.group = new_group(like.ranks);
    for (like.number = 0; like.number < like.ranks; like.number++)
        start(like, rig_socket_dir(bench->rig), job, processes);
    enum weir_status status = wait_for_all(like.group, processes, like.ranks, err);
    *ret_rate =
        (double)like.group->steps * 1e9 / (double)(like.group->ended_ns - like.group->began_ns);
    munmap(like.group, sizeof(*like.group));
    return status;
}

static enum weir_status run_ranks(struct preprocess_bench *bench, enum tabular_workload which,
                                  uint32_t ranks, double *ret_rate, struct weir_error *err)
{
    bool is_alone = which == EACH_ALONE;
    uint64_t first = bench->jobs + 1, jobs = is_alone ? ranks : 1;
    enum weir_status status = WEIR_OK;
    bench->jobs += jobs;
    for (uint64_t i = 0; i < jobs && status == WEIR_OK; i++) {
        const struct workload_job job = {first + i, WORKLOAD_SEED + i, is_alone ? 1 : ranks};
        status = workload_open(&bench->tabular[which], bench->rig, &job, err);
    }
    if (status == WEIR_OK)
        status = run_group(bench, (struct rank){.ranks = ranks, .is_alone = is_alone}, first,
                           ret_rate, err);
    for (uint64_t i = 0; i < jobs; i++)
        rig_tell(bench->rig, RIG_DISPATCHER, MSG_job_close,
                 &(struct msg_job_close){.job = first + i});
    return status;
}

enum weir_status prepare_ranks(void *state, struct weir_error *err)
{
    enum weir_status status = tabular_need(state, FOUR_RANKS, err);
    if (status == WEIR_OK)
        status = tabular_need(state, EIGHT_RANKS, err);
    return status == WEIR_OK ? tabular_need(state, EACH_ALONE, err) : status;
}

enum weir_status four_ranks(void *state, double *ret_rate, struct weir_error *err)
{
    return run_ranks(state, FOUR_RANKS, 4, ret_rate, err);
}

enum weir_status four_alone(void *state, double *ret_rate, struct weir_error *err)
{
    return run_ranks(state, EACH_ALONE, 4, ret_rate, err);
}

enum weir_status eight_ranks(void *state, double *ret_rate, struct weir_error *err)
{
    return run_ranks(state, EIGHT_RANKS, 8, ret_rate, err);
}

enum weir_status eight_alone(void *state, double *ret_rate, struct weir_error *err)
{
    return run_ranks(state, EACH_ALONE, 8, ret_rate, err);
}
