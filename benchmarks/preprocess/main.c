/* bench_preprocess: what the preprocessing service makes of a core, against plain loops and PyTorch (C15). */
#include "benchmarks/preprocess/bench.h"

#include "core/base/memory.h"

#include <stdlib.h>

static void close_preprocess(void *state)
{
    struct preprocess_bench *bench = state;
    if (bench == NULL)
        return;
    pictures_fini(bench);
    limit_fini(bench);
    tabular_fini(bench);
    rig_stop(bench->rig);
    free(bench);
}

static enum weir_status open_preprocess(const char *directory, double scale, void **ret_state,
                                        struct weir_error *err)
{
    struct preprocess_bench *bench = weir_calloc(1, sizeof(*bench));
    bench->directory = directory;
    bench->scale = scale;
    slow_samples_allow();
    enum weir_status status = rig_start(directory, BENCH_WORKERS, &bench->rig, err);
    if (status != WEIR_OK) {
        close_preprocess(bench);
        return status;
    }
    *ret_state = bench;
    return WEIR_OK;
}

// clang-format off
static const struct bench_figure FIGURES[] = {
    {.name = "preprocess.pictures.cpu", .against = "a loop over libjpeg-turbo, CPU time a picture",
     .unit = "pictures/CPU s", .bar = 0.9,
     .prepare = prepare_pictures, .ours = pictures_by_worker_cpu, .theirs = pictures_whole},
    {.name = "preprocess.pictures.cpu_region",
     .against = "the same loop when it decodes no more than the crop either",
     .unit = "pictures/CPU s",
     .prepare = prepare_pictures, .ours = pictures_by_worker_cpu, .theirs = pictures_region},
    {.name = "preprocess.pictures.torch",
     .against = "PyTorch's DataLoader and torchvision.io, best worker count",
     .unit = "pictures/s", .bar = 2.3, .peer = "torch",
     .prepare = prepare_torch, .ours = pictures_by_time, .theirs = pictures_torch},
    {.name = "preprocess.clicks", .against = "the same operators in one process, a thread a core",
     .unit = "samples/s", .bar = 0.7,
     .prepare = prepare_clicks, .ours = clicks_exact, .theirs = clicks_here},
    {.name = "preprocess.clicks.cpu", .against = "120 ns of CPU a record, of workers, client and loop",
     .unit = "samples/CPU s", .bar = 1,
     .prepare = prepare_clicks, .ours = clicks_by_cpu, .theirs = clicks_a_cpu_second},
    {.name = "preprocess.clicks.gather",
     .against = "a bare gather of the same numbers by two threads, CPU time a record",
     .unit = "samples/CPU s", .bar = 1.0 / 3,
     .prepare = prepare_gather, .ours = clicks_by_cpu, .theirs = clicks_gather_by_cpu},
    {.name = "preprocess.clicks.torch", .against = "PyTorch's Subset and DataLoader, best worker count",
     .unit = "samples/s", .bar = 30, .peer = "torch",
     .prepare = prepare_clicks_map, .ours = clicks_exact, .theirs = clicks_map},
    {.name = "preprocess.clicks.vectorised",
     .against = "the same with a batch sampler and NumPy, best worker count",
     .unit = "samples/s", .bar = 12, .peer = "torch",
     .prepare = prepare_clicks_vectorised, .ours = clicks_exact, .theirs = clicks_vectorised},
    {.name = "preprocess.clicks.mapped",
     .against = "the same, records in files that NumPy maps, best worker count",
     .unit = "samples/s", .peer = "torch",
     .prepare = prepare_clicks_mapped, .ours = clicks_exact, .theirs = clicks_mapped},
    {.name = "preprocess.clicks.numpy",
     .against = "one take a batch from files that NumPy maps, and nothing else, best thread count",
     .unit = "samples/s", .peer = "numpy",
     .prepare = prepare_clicks_numpy, .ours = clicks_exact, .theirs = clicks_numpy},
    {.name = "preprocess.clicks.limit",
     .against = "the vectorised form; ours is a bare gather by two threads",
     .unit = "samples/s", .peer = "torch",
     .prepare = prepare_limit, .ours = clicks_limit, .theirs = clicks_vectorised},
    {.name = "preprocess.lines.torch", .against = "PyTorch's DataLoader, n-grams in Python, best worker count",
     .unit = "lines/s", .bar = 20, .peer = "torch",
     .prepare = prepare_lines_torch, .ours = lines_there, .theirs = lines_torch},
    {.name = "preprocess.alike.filled",
     .against = "batches as drawn; of rectangles as wide as their longest line, what is filled",
     .unit = "of all", .bar = 2, .runs_max = 1,
     .prepare = prepare_uneven, .ours = filled_alike, .theirs = filled_drawn},
    {.name = "preprocess.alike.speed", .against = "batches as drawn; the pass that measures lengths counts",
     .unit = "lines/s",
     .prepare = prepare_uneven, .ours = uneven_alike, .theirs = uneven_drawn},
    {.name = "preprocess.ranks.4",
     .against = "length classes that each of four ranks chooses alone; a step takes as long as its widest rectangle",
     .unit = "steps/s", .bar = 1.9, .runs_max = BENCH_RUNS_FEW,
     .prepare = prepare_ranks, .ours = four_ranks, .theirs = four_alone},
    {.name = "preprocess.ranks.8", .against = "the same with eight ranks",
     .unit = "steps/s", .bar = 2.6, .runs_max = BENCH_RUNS_FEW,
     .prepare = prepare_ranks, .ours = eight_ranks, .theirs = eight_alone},
    {.name = "preprocess.exactly_once", .against = "at_most_once",
     .unit = "samples/s", .bar = 0.97,
     .prepare = prepare_at_most_once, .ours = clicks_exact, .theirs = clicks_at_most_once},
    {.name = "preprocess.deterministic", .against = "relaxed, samples of equal cost",
     .unit = "samples/s", .bar = 0.95,
     .prepare = prepare_relaxed, .ours = clicks_exact, .theirs = clicks_relaxed},
    {.name = "preprocess.slow_samples.relaxed",
     .against = "the same time shared by all samples; 5 % of ours take 20 times as long as the others",
     .unit = "samples/s", .bar = 0.9, .runs_max = BENCH_RUNS_FEW,
     .prepare = prepare_slow, .ours = slow_uneven, .theirs = slow_even},
    {.name = "preprocess.slow_samples.deterministic", .against = "the same time shared by all samples, relaxed",
     .unit = "samples/s", .runs_max = BENCH_RUNS_FEW,
     .prepare = prepare_slow, .ours = slow_ordered, .theirs = slow_even},
    {.name = "preprocess.visitation.off.simulated",
     .against = "tf.data service's OFF, simulated; a worker is killed in the midst; set / (set + lost + repeated)",
     .unit = "of all", .bar = 1, .runs_max = 1, .ours = visits_exactly_once, .theirs = visits_off},
    {.name = "preprocess.visitation.static.simulated",
     .against = "the same of its static policies (FILE, DATA)",
     .unit = "of all", .bar = 1, .runs_max = 1, .ours = visits_exactly_once, .theirs = visits_static},
    {.name = "preprocess.visitation.dynamic.simulated", .against = "the same of DYNAMIC",
     .unit = "of all", .bar = 1, .runs_max = 1, .ours = visits_exactly_once, .theirs = visits_dynamic},
    {.name = "preprocess.transport.64kb", .against = "frames over ipc; lent memory, CPU time of both ends",
     .unit = "bytes/CPU s", .ours = transport_small_lent, .theirs = transport_small_frames},
    {.name = "preprocess.transport.1mb", .against = "frames over ipc; lent memory, CPU time of both ends",
     .unit = "bytes/CPU s", .bar = 1, .ours = transport_lent, .theirs = transport_frames},
    {.name = "preprocess.transport.16mb", .against = "frames over ipc; lent memory, CPU time of both ends",
     .unit = "bytes/CPU s", .bar = 1, .ours = transport_large_lent, .theirs = transport_large_frames},
    {.name = "preprocess.transport.tcp", .against = "the same frames over ipc, without keys; CPU time of both ends",
     .unit = "bytes/CPU s", .ours = transport_tcp, .theirs = transport_frames},
    {.name = "preprocess.leases.1.simulated", .against = "20 000 a CPU second, to one worker",
     .unit = "leases/CPU s", .bar = 1, .runs_max = 1, .ours = leases_one, .theirs = leases_wanted},
    {.name = "preprocess.leases.100.simulated", .against = "20 000 a CPU second, to 100 workers",
     .unit = "leases/CPU s", .bar = 1, .runs_max = 1, .ours = leases_hundred, .theirs = leases_wanted},
    {.name = "preprocess.leases.10000.simulated",
     .against = "20 000 a CPU second, to 10 000 workers",
     .unit = "leases/CPU s", .bar = 1, .runs_max = 1, .ours = leases_many, .theirs = leases_wanted},
    {.name = "preprocess.heartbeats.10000.simulated",
     .against = "0.3 cores, for the heartbeats of 10 000 workers",
     .unit = "1/cores", .bar = 1, .runs_max = 1, .ours = beats_many, .theirs = beats_allowed},
    {.name = "preprocess.restart",
     .against = "1 s, from kill -9 of the dispatcher to its next answer, with a job of 10^9 groups",
     .unit = "1/s", .bar = 1, .runs_max = BENCH_RUNS_FEW, .ours = restarts, .theirs = restarts_wanted},
};
// clang-format on

static const struct bench PREPROCESS = {
    .name = "preprocess",
    .summary = "what the preprocessing service makes of a core",
    .figures = FIGURES,
    .figure_count = WEIR_COUNT(FIGURES),
    .open = open_preprocess,
    .close = close_preprocess,
};

int main(int argc, char **argv)
{
    return bench_main(&PREPROCESS, argc, argv);
}
