/* bench_selector: choosing samples, sealing and serving sets (C15). */
#include "benchmarks/peers/peer.h"
#include "benchmarks/selector/bench.h"

#include <stdlib.h>

static void close_selector(void *state)
{
    struct selector_bench *bench = state;
    if (bench == NULL)
        return;
    table_close(bench->table);
    rig_stop(bench->rig);
    free(bench);
}

static enum weir_status open_selector(const char *directory, double scale, void **ret_state,
                                      struct weir_error *err)
{
    struct selector_bench *bench = weir_calloc(1, sizeof(*bench));
    (void)err;
    bench->directory = directory;
    bench->scale = scale;
    *ret_state = bench;
    return WEIR_OK;
}

// clang-format off
static const struct bench_figure FIGURES[] = {
    /* First, while the selector has done nothing else. */
    {.name = "selector.memory.pool", .against = "64 MB, while 10 M of 100 M candidates are drawn",
     .unit = "1/bytes", .bar = 1, .runs_max = 1,
     .prepare = prepare_hundred, .ours = pool_memory, .theirs = allowed_pool},
    {.name = "selector.linear", .against = "candidates a second of 1 M",
     .unit = "candidates/s", .bar = 1,
     .prepare = prepare_hundred, .ours = draw_hundred, .theirs = draw_one},
    {.name = "selector.random.sort", .against = "COPY of SELECT … ORDER BY random() LIMIT",
     .unit = "candidates/s", .bar = 50, .peer = "postgres",
     .prepare = prepare_rows, .ours = draw_ten, .theirs = sort_rows},
    {.name = "selector.random.bernoulli", .against = "COPY of SELECT … TABLESAMPLE BERNOULLI",
     .unit = "candidates/s", .bar = 5, .peer = "postgres",
     .prepare = prepare_rows, .ours = draw_ten, .theirs = sample_rows},
    {.name = "selector.random.tuned", .against = "COPY of SELECT … ORDER BY random() LIMIT, in memory, by all cores",
     .unit = "candidates/s", .peer = "postgres",
     .prepare = prepare_rows, .ours = draw_ten, .theirs = sort_rows_in_memory},
    {.name = "selector.label_balanced.window",
     .against = "COPY of SELECT … row_number() OVER (PARTITION BY label ORDER BY random()), in memory, by all cores",
     .unit = "candidates/s", .peer = "postgres",
     .prepare = prepare_rows, .ours = balance_ten, .theirs = balance_rows},
    {.name = "selector.label_balanced", .against = "random from the same 10 M candidates",
     .unit = "candidates/s", .bar = 0.5,
     .prepare = prepare_ten, .ours = balance_ten, .theirs = draw_ten},
    {.name = "selector.seal", .against = "20 M ids a second, of 100 M",
     .unit = "ids/s", .bar = 1, .runs_max = BENCH_RUNS_FEW,
     .prepare = prepare_hundred, .ours = seal_all, .theirs = twenty_million},
    {.name = "selector.serve", .against = "20 M ids a second, of 100 M",
     .unit = "ids/s", .bar = 1, .runs_max = BENCH_RUNS_FEW,
     .prepare = prepare_serving, .ours = serve_all, .theirs = twenty_million},
    {.name = "selector.facility", .against = "the same lazy greedy in NumPy, in the same 1 GB",
     .unit = "chosen/s", .bar = 2, .runs_max = BENCH_RUNS_FEW, .peer = "numpy",
     .prepare = peer_need_numpy, .ours = cover_lazily, .theirs = cover_in_numpy},
    {.name = "selector.memory.k_center", .against = "1 GB, for 100 k x 128",
     .unit = "1/bytes", .bar = 1, .runs_max = 1,
     .ours = center_memory, .theirs = one_gigabyte},
    {.name = "selector.memory.facility", .against = "1 GB, for 100 k x 128",
     .unit = "1/bytes", .bar = 1, .runs_max = 1,
     .ours = cover_memory, .theirs = one_gigabyte},
};
// clang-format on

static const struct bench SELECTOR = {
    .name = "selector",
    .summary = "choosing samples, sealing and serving sets",
    .figures = FIGURES,
    .figure_count = WEIR_COUNT(FIGURES),
    .open = open_selector,
    .close = close_selector,
};

int main(int argc, char **argv)
{
    return bench_main(&SELECTOR, argc, argv);
}
