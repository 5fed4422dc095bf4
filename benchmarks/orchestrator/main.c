/* bench_orchestrator: deciding when to train, and keeping what was trained (C15). */
#include "benchmarks/orchestrator/bench.h"
#include "benchmarks/peers/peer.h"

#include "core/base/memory.h"

#include <stdlib.h>

static enum weir_status open_orchestrator(const char *directory, double scale, void **ret_state,
                                          struct weir_error *err)
{
    struct orchestrator_bench *bench = weir_calloc(1, sizeof(*bench));
    (void)err;
    bench->directory = directory;
    bench->scale = scale;
    *ret_state = bench;
    return WEIR_OK;
}

// clang-format off
static const struct bench_figure FIGURES[] = {
    {.name = "orchestrator.triggers", .against = "20 M samples a second, by amount and by time",
     .unit = "samples/s", .bar = 1, .ours = evaluate_triggers, .theirs = twenty_million_samples},
    {.name = "orchestrator.first_batch", .against = "100 ms from a trigger that fired to a batch in a trainer",
     .unit = "1/s", .runs_max = BENCH_RUNS_FEW, .ours = reach_the_trainer, .theirs = ten_a_second},
    {.name = "orchestrator.cycle", .against = "300 ms to select 1 sample, train, store and measure",
     .unit = "1/s", .bar = 1, .runs_max = BENCH_RUNS_FEW, .ours = go_through_a_cycle, .theirs = cycle_allowed},
    {.name = "orchestrator.delta.store", .against = "an fsync'ed write of the model, 500 MB (synthetic)",
     .unit = "bytes/s", .bar = 0.5, .runs_max = 5,
     .prepare = prepare_models, .ours = store_delta, .theirs = store_whole},
    {.name = "orchestrator.delta.load", .against = "a read of the model from the disk; the base is in memory",
     .unit = "bytes/s", .bar = 0.7, .runs_max = 5,
     .prepare = prepare_delta, .ours = load_delta, .theirs = load_whole},
    {.name = "orchestrator.delta.load.cold", .against = "a read of the model from the disk, as base and difference are",
     .unit = "bytes/s", .runs_max = 5,
     .prepare = prepare_delta, .ours = load_both, .theirs = load_whole},
    {.name = "orchestrator.delta.size", .against = "the model as it is (synthetic)",
     .unit = "1/bytes", .runs_max = 1,
     .prepare = prepare_delta, .ours = delta_size, .theirs = whole_size},
    {.name = "orchestrator.delta.zstd", .against = "zstd -3 of the model (synthetic)",
     .unit = "1/bytes", .runs_max = 1,
     .prepare = prepare_delta, .ours = delta_size, .theirs = zstd_size},
    {.name = "orchestrator.mmd.batched", .against = "one product in NumPy on OpenBLAS and all cores",
     .unit = "tests/s", .bar = 1, .peer = "numpy",
     .prepare = peer_need_numpy, .ours = mmd_here, .theirs = mmd_in_numpy},
    {.name = "orchestrator.mmd.loop", .against = "a loop over the permutations in NumPy",
     .unit = "tests/s", .bar = 5, .runs_max = BENCH_RUNS_FEW, .peer = "numpy",
     .prepare = peer_need_numpy, .ours = mmd_here, .theirs = mmd_in_a_loop},
};
// clang-format on

static const struct bench ORCHESTRATOR = {
    .name = "orchestrator",
    .summary = "deciding when to train, and keeping what was trained",
    .figures = FIGURES,
    .figure_count = WEIR_COUNT(FIGURES),
    .open = open_orchestrator,
    .close = free,
};

int main(int argc, char **argv)
{
    return bench_main(&ORCHESTRATOR, argc, argv);
}
