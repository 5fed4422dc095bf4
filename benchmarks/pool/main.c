/* bench_pool: policies that size a pool of workers (C15, C18): simulated pools, and what real ones make. */
#include "benchmarks/pool/bench.h"

#include "core/base/memory.h"

#include <math.h>
#include <stdlib.h>

enum { SEEDS = 100 };

/* Ours has a report each 2 s, or each 100 batches if that is sooner. Cachew and Pecan have one in 500 batches and
 * discard 150 after each change, 200 at the start. Workers of tf.data service report each 30 s. */
static const struct pool_entry ENTRIES[POOL_CONTENDERS] = {
    [POOL_RATES] = {.name = "rates",
                    .section = "rates",
                    .report_s = 2,
                    .report_batches = 100,
                    .on_start = POOL_THROWN,
                    .settle_s = 1},
    [POOL_CACHEW_7] = {.name = "cachew 7 %",
                       .section = "cachew",
                       .report_s = INFINITY,
                       .report_batches = 500,
                       .discard_start = 200,
                       .discard_change = 150,
                       .on_start = POOL_ENDS},
    [POOL_CACHEW_3] = {.name = "cachew 3 %",
                       .section = "{policy: cachew, threshold_up: 0.03}",
                       .report_s = INFINITY,
                       .report_batches = 500,
                       .discard_start = 200,
                       .discard_change = 150,
                       .on_start = POOL_ENDS},
    [POOL_PECAN] = {.name = "pecan",
                    .section = "pecan",
                    .report_s = INFINITY,
                    .report_batches = 500,
                    .discard_start = 200,
                    .discard_change = 150,
                    .on_start = POOL_ENDS},
    [POOL_TFDATA] = {.name = "tfdata",
                     .section = "tfdata",
                     .report_s = 30,
                     .report_batches = INFINITY},
};

static enum weir_status open_entry(struct pool_entry *entry, struct weir_error *err)
{
    struct weir_yaml *yaml = NULL;
    enum weir_status status = weir_yaml_parse("bench", weir_bytes_of(entry->section), &yaml, err);
    if (status == WEIR_OK)
        status = cfg_plugin_open(&PREPROCESS_SCALE_POLICIES, NULL, weir_yaml_root(yaml), "plan",
                                 &entry->opened, err);
    weir_yaml_free(yaml);
    return status;
}

static void close_pool(void *state)
{
    struct pool_bench *bench = state;
    if (bench == NULL)
        return;
    for (size_t i = 0; i < POOL_CONTENDERS; i++)
        free(bench->entries[i].opened.memory);
    real_fini(&bench->real);
    pool_crowd_disperse(bench->crowd);
    free(bench);
}

static enum weir_status open_pool(const char *directory, double scale, void **ret_state,
                                  struct weir_error *err)
{
    struct pool_bench *bench = weir_calloc(1, sizeof(*bench));
    enum weir_status status = WEIR_OK;
    bench->real = (struct real){.directory = directory, .scale = scale};
    real_allow_program();
    bench->seeds = (size_t)fmax(1, SEEDS * scale);
    for (size_t i = 0; i < POOL_CONTENDERS && status == WEIR_OK; i++) {
        bench->entries[i] = ENTRIES[i];
        status = open_entry(&bench->entries[i], err);
    }
    if (status != WEIR_OK)
        close_pool(bench);
    else
        *ret_state = bench;
    return status;
}

// clang-format off
#define KNEE(N)                                                                                                      \
    {.name = "pool.settle." #N ".simulated",                                                                         \
     .against = "4 reports until within a worker or a tenth of " #N ", which suffice; 5 % noise, medians, simulated", \
     .unit = "1/reports", .bar = 1, .runs_max = 1,                                                                   \
     .prepare = prepare_settle, .ours = settle_##N, .theirs = settle_allowed},                                       \
    {.name = "pool.flaps." #N ".simulated",                                                                          \
     .against = "one flap an hour; the same, simulated",                                                             \
     .unit = "1/flaps", .bar = 1, .runs_max = 1,                                                                     \
     .prepare = prepare_settle, .ours = flaps_##N, .theirs = flaps_allowed},                                         \
    {.name = "pool.regret." #N ".simulated",                                                                         \
     .against = "the best of cachew, pecan, tfdata: stall and idle workers of the first hour, in dollars, simulated", \
     .unit = "1/dollars", .bar = 2, .runs_max = 1,                                                                   \
     .prepare = prepare_settle, .ours = regret_##N, .theirs = regret_best_##N}

#define REAL(JOB, N, WHAT)                                                                                           \
    {.name = "pool.real." #JOB "." #N,                                                                               \
     .against = #N " times one worker; real workers, " WHAT,                                                         \
     .unit = "batches/s", .bar = 0.9, .runs_max = BENCH_RUNS_FEW,                                                    \
     .prepare = prepare_real_##N, .ours = JOB##_many, .theirs = JOB##_one},                                          \
    {.name = "pool.real." #JOB "." #N ".simulated",                                                                  \
     .against = "what the simulator foretells from the costs of one worker; ours is measured, the newest run", \
     .unit = "batches/s", .runs_max = 1,                                                                             \
     .prepare = prepare_real_##N, .ours = JOB##_measured, .theirs = JOB##_foretold}

static const struct bench_figure FIGURES[] = {
    KNEE(8), KNEE(16), KNEE(24), KNEE(32),
    {.name = "pool.settle.cachew.simulated",
     .against = "4 reports until at 3 to 5 workers on the curve of Cachew's figure 6a; 5 % noise, simulated",
     .unit = "1/reports", .bar = 1, .runs_max = 1, .ours = published_curve, .theirs = settle_allowed},
    {.name = "pool.settle.slow.simulated",
     .against = "4 reports until near 16, which suffice, where a batch takes a worker 3.2 s; 5 % noise, simulated",
     .unit = "1/reports", .runs_max = 1, .ours = slow_batches, .theirs = settle_allowed},
    {.name = "pool.change.doubled.simulated",
     .against = "3 reports until within a tenth of the new need, when the consumer takes twice as much; simulated",
     .unit = "1/reports", .bar = 1, .runs_max = 1, .ours = doubled, .theirs = change_allowed},
    {.name = "pool.change.halved.simulated",
     .against = "3 reports until within a tenth of the new need, when the consumer takes half as much; simulated",
     .unit = "1/reports", .bar = 1, .runs_max = 1, .ours = halved, .theirs = change_allowed},
    {.name = "pool.curves.resnet50.cachew.simulated",
     .against = "one worker from 18 remote ones, where the published log ends; frozen curve, simulated",
     .unit = "1/workers", .bar = 1, .runs_max = 1, .ours = cachew_on_resnet50, .theirs = one_worker},
    {.name = "pool.curves.resnet50.pecan.simulated",
     .against = "one worker from 4 remote and 10 local ones, where the published log ends; frozen curve, simulated",
     .unit = "1/workers", .bar = 1, .runs_max = 1, .ours = pecan_on_resnet50, .theirs = one_worker},
    {.name = "pool.curves.retinanet.cachew.simulated",
     .against = "one worker from 2 remote ones, where the published log ends; frozen curve, simulated",
     .unit = "1/workers", .bar = 1, .runs_max = 1, .ours = cachew_on_retinanet, .theirs = one_worker},
    {.name = "pool.curves.retinanet.pecan.simulated",
     .against = "one worker from 10 local ones, where the published log ends; frozen curve, simulated",
     .unit = "1/workers", .bar = 1, .runs_max = 1, .ours = pecan_on_retinanet, .theirs = one_worker},
    {.name = "pool.dollars.resnet50.simulated",
     .against = "an epoch at pecan's end; ours after 8 reports, 5 % noise, frozen curve, simulated",
     .unit = "1/dollars", .bar = 1, .runs_max = 1, .ours = dollars_resnet50, .theirs = pecan_dollars_resnet50},
    {.name = "pool.dollars.retinanet.simulated",
     .against = "an epoch at pecan's end; ours after 8 reports, 5 % noise, frozen curve, simulated",
     .unit = "1/dollars", .bar = 1, .runs_max = 1, .ours = dollars_retinanet, .theirs = pecan_dollars_retinanet},
    {.name = "pool.dollars.drawn.simulated",
     .against = "an epoch at pecan's end; ours after 8 reports, 5 % noise, median of 100 drawn curves, simulated",
     .unit = "pecan's", .bar = 1, .runs_max = 1, .ours = dollars_drawn, .theirs = pecan_dollars_drawn},
    REAL(computing, 2, "each picture decoded: CPU time, on two cores"),
    {.name = "pool.speedup.64.simulated",
     .against = "31.7 times one worker, tf.data service's mean; 64 with own cores, from measured costs; simulated",
     .unit = "workers", .runs_max = 1,
     .prepare = prepare_real_2, .ours = speedup_foretold, .theirs = speedup_published},
    REAL(waiting, 2, "each batch a program that sleeps for 125 ms: latency, no CPU time"),
    REAL(waiting, 4, "latency, no CPU time"),
    REAL(waiting, 8, "latency, no CPU time"),
    REAL(waiting, 16, "latency, no CPU time"),
    {.name = "pool.crowd.storage", .against = "0.3 cores, with 10,000 workers that hold", .bar = 1,
     .unit = "1/cores", .runs_max = BENCH_RUNS_FEW,
     .prepare = prepare_crowd, .ours = crowd_storage, .theirs = crowd_allowed},
    {.name = "pool.crowd.dispatcher", .against = "0.3 cores, with 10,000 workers that beat", .bar = 1,
     .unit = "1/cores", .runs_max = BENCH_RUNS_FEW,
     .prepare = prepare_crowd, .ours = crowd_dispatcher, .theirs = crowd_allowed},
    {.name = "pool.crowd.in_force", .against = "3 s until an erasure is in force, with 10,000 workers", .bar = 1,
     .unit = "1/s", .runs_max = 5, .prepare = prepare_crowd, .ours = crowd_in_force, .theirs = crowd_in_force_allowed},
    {.name = "pool.crowd.in_force.killed", .against = "the same, with a hundredth of them killed", .bar = 1,
     .unit = "1/s", .runs_max = 5,
     .prepare = prepare_crowd, .ours = crowd_in_force_maimed, .theirs = crowd_in_force_allowed},
    {.name = "pool.planner.simulated",
     .against = "the linear programme's optimum; planned with 5 % noise, median of 200 drawn pipelines, simulated",
     .unit = "optimum", .bar = 0.95, .runs_max = 1,
     .prepare = prepare_planner, .ours = planner_share, .theirs = planner_whole},
    {.name = "pool.planner.least.simulated",
     .against = "the same pipelines with one worker, as they are written; the least of 200, simulated",
     .unit = "written", .bar = 1, .runs_max = 1,
     .prepare = prepare_planner, .ours = planner_least, .theirs = planner_whole},
};
// clang-format on

static const struct bench POOL = {
    .name = "pool",
    .summary = "how soon and how well a pool finds its size",
    .figures = FIGURES,
    .figure_count = WEIR_COUNT(FIGURES),
    .open = open_pool,
    .close = close_pool,
};

int main(int argc, char **argv)
{
    return bench_main(&POOL, argc, argv);
}
