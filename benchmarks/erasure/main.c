/* bench_erasure: what forgetting costs (C15). */
#include "benchmarks/erasure/bench.h"

#include "core/base/memory.h"

#include <stdlib.h>

static void close_erasure(void *state)
{
    struct erasure_bench *bench = state;

    if (bench == NULL)
        return;
    table_close(bench->table);
    rig_stop(bench->rig);
    free(bench);
}

static enum weir_status open_erasure(const char *directory, double scale, void **ret_state,
                                     struct weir_error *err)
{
    struct erasure_bench *bench = weir_calloc(1, sizeof(*bench));
    enum weir_status status;

    bench->directory = directory;
    bench->lines = (size_t)(LINES * scale);
    if (bench->lines < CROWD)
        bench->lines = CROWD;
    status = rig_start(directory, 0, &bench->rig, err);
    if (status != WEIR_OK) {
        close_erasure(bench);
        return status;
    }
    *ret_state = bench;
    return WEIR_OK;
}

// clang-format off
static const struct bench_figure FIGURES[] = {
    {.name = "erasure.samples", .against = "lines overwritten, rows deleted and the name looked for by a script",
     .unit = "samples/s", .prepare = prepare_plain, .ours = erase_half, .theirs = overwrite_half},
    {.name = "erasure.answers", .against = "the same requests while nothing is erased",
     .unit = "answers/s", .runs_max = BENCH_RUNS_FEW, .ours = answer_while_erasing, .theirs = answer_alone},
    {.name = "erasure.answers.longest", .against = "100 ms, the longest of them",
     .unit = "1/s", .bar = 1, .runs_max = 1, .ours = answer_longest, .theirs = answer_limit},
    {.name = "erasure.crowd", .against = "one request of the same 1000 people",
     .unit = "people/s", .ours = erase_crowd, .theirs = erase_list},
};
// clang-format on

static const struct bench ERASURE = {
    .name = "erasure",
    .summary = "what forgetting costs",
    .figures = FIGURES,
    .figure_count = WEIR_COUNT(FIGURES),
    .open = open_erasure,
    .close = close_erasure,
};

int main(int argc, char **argv)
{
    return bench_main(&ERASURE, argc, argv);
}
