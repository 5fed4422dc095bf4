/* bench_orchestrator: deciding when to train (C15). */
#include "benchmarks/orchestrator/bench.h"

#include "core/base/memory.h"

#include <stdlib.h>

static enum weir_status open_orchestrator(const char *directory, double scale, void **ret_state,
                                          struct weir_error *err)
{
    struct orchestrator_bench *bench = weir_calloc(1, sizeof *bench);
    (void)err;
    bench->directory = directory;
    bench->scale = scale;
    *ret_state = bench;
    return WEIR_OK;
}

// clang-format off
static const struct bench_figure FIGURES[] = {
    {.name = "orchestrator.mmd.batched", .against = "one product in NumPy on OpenBLAS and all cores",
     .unit = "tests/s", .bar = 1, .ours = mmd_here, .theirs = mmd_in_numpy},
    {.name = "orchestrator.mmd.loop", .against = "a loop over the permutations in NumPy",
     .unit = "tests/s", .bar = 5, .runs_max = 3, .ours = mmd_here, .theirs = mmd_in_a_loop},
};
// clang-format on

static const struct bench ORCHESTRATOR = {
    .name = "orchestrator",
    .summary = "deciding when to train",
    .figures = FIGURES,
    .figure_count = WEIR_COUNT(FIGURES),
    .open = open_orchestrator,
    .close = free,
};

int main(int argc, char **argv)
{
    return bench_main(&ORCHESTRATOR, argc, argv);
}
