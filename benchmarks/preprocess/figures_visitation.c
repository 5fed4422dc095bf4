/* How often a sample is visited when a worker is killed: Weir's real one by the audit, tf.data service's policies as
 * baselines by a simulation of them (visitation.h). The rate is the share of all visits, made and missing, that are in
 * place: set / (set + lost + repeated). */
#include "benchmarks/preprocess/bench.h"
#include "benchmarks/preprocess/visitation.h"

#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <unistd.h>

enum {
    RECORDS = 500000,
    EPOCHS = 8,      /* more than fits in what a trainer has granted: the worker dies at work */
    SPLIT = 4096,    /* a batch of ours, a split of theirs */
    KILL_AFTER = 20, /* of those */
    BUFFERED = 8,    /* splits that a worker of theirs makes in advance */
};

static double tell(const char *who, const struct visitation_audit *audit)
{
    (void)fprintf(stderr,
                  "visitation: %s: %" PRIu64 " samples, a worker killed: %" PRIu64 " lost, %" PRIu64
                  " repeated\n",
                  who, audit->set, audit->lost, audit->repeated);
    return (double)audit->set / (double)(audit->set + audit->lost + audit->repeated);
}

static size_t records_of(const struct preprocess_bench *bench)
{
    return (size_t)(RECORDS * bench->scale);
}

/* ---- Weir ---- */

static void kill_one(struct rig *rig, uint64_t batches)
{
    if (batches == KILL_AFTER)
        weir_require(kill(rig_worker_pid(rig, 1), SIGKILL) == 0);
}

static enum weir_status run_job(struct rig *rig, struct workload *workload,
                                struct workload_run *run, struct weir_error *err)
{
    enum weir_status status = workload_prepare_records(workload, rig, err);

    return status == WEIR_OK ? workload_run_there(workload, rig, run, err) : status;
}

/* On a platform of its own, whose worker dies. A job with anything lost or repeated fails. */
static enum weir_status run_apart(struct preprocess_bench *bench, struct workload *workload,
                                  struct workload_run *run, struct weir_error *err)
{
    WEIR_AUTO_FREE char *directory =
        weir_format("%s/visitation-%" PRIu64, bench->directory, run->job);
    struct rig *rig = NULL;
    enum weir_status status = rig_start(directory, BENCH_WORKERS, &rig, err);

    if (status == WEIR_OK)
        status = run_job(rig, workload, run, err);
    rig_stop(rig);
    return status;
}

enum weir_status visits_exactly_once(void *state, double *ret_rate, struct weir_error *err)
{
    struct preprocess_bench *bench = state;
    struct corpus corpus = {0};
    struct workload_run run = {.job = ++bench->jobs, .on_batch = kill_one};
    WEIR_AUTO_FREE char *directory = weir_format("%s/visited-%" PRIu64, bench->directory, run.job);
    struct workload workload = {.corpus = &corpus, .epochs = EPOCHS};
    enum weir_status status = corpus_make_records(directory, records_of(bench), &corpus, err);

    if (status == WEIR_OK)
        status = run_apart(bench, &workload, &run, err);
    if (status == WEIR_OK)
        *ret_rate =
            tell("exactly_once, by its audit", &(struct visitation_audit){.set = workload.samples});
    workload_fini(&workload);
    corpus_fini(&corpus);
    return status;
}

/* ---- the baselines ---- */

static enum weir_status simulate(const struct preprocess_bench *bench, enum visitation policy,
                                 const char *who, double *ret_rate)
{
    const struct visitation_audit audit = visitation_run(&(struct visitation_form){
        .policy = policy,
        .samples = records_of(bench) / WORKLOAD_STRIDE,
        .split_samples = SPLIT,
        .epochs = EPOCHS,
        .workers = BENCH_WORKERS,
        .buffered = BUFFERED,
        .kill_after = KILL_AFTER,
    });

    *ret_rate = tell(who, &audit);
    return WEIR_OK;
}

enum weir_status visits_off(void *state, double *ret_rate, struct weir_error *err)
{
    (void)err;
    return simulate(state, VISITATION_OFF, "off, simulated", ret_rate);
}

enum weir_status visits_static(void *state, double *ret_rate, struct weir_error *err)
{
    (void)err;
    return simulate(state, VISITATION_STATIC, "static, simulated", ret_rate);
}

enum weir_status visits_dynamic(void *state, double *ret_rate, struct weir_error *err)
{
    (void)err;
    return simulate(state, VISITATION_DYNAMIC, "dynamic, simulated", ret_rate);
}
