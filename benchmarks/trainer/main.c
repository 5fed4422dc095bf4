/* bench_trainer: what a training program gets of its time, against PyTorch's own loader (C15). */
#include "benchmarks/trainer/bench.h"

#include "core/base/memory.h"

#include <stdlib.h>

static void close_trainer(void *state)
{
    struct trainer_bench *bench = state;

    if (bench == NULL)
        return;
    for (size_t i = 0; i < TRAINER_STYLES; i++)
        free(bench->theirs[i]);
    corpus_fini(&bench->clicks);
    free(bench);
}

static enum weir_status open_trainer(const char *directory, double scale, void **ret_state,
                                     struct weir_error *err)
{
    struct trainer_bench *bench = weir_calloc(1, sizeof(*bench));
    WEIR_AUTO_FREE char *clicks = weir_format("%s/clicks", directory);

    bench->directory = directory;
    bench->scale = scale;
    enum weir_status status =
        corpus_make_records(clicks, (size_t)(scale * TRAINER_SAMPLES), &bench->clicks, err);
    if (status != WEIR_OK) {
        close_trainer(bench);
        return status;
    }
    *ret_state = bench;
    return WEIR_OK;
}

// clang-format off
static const struct bench_figure FIGURES[] = {
    {.name = "trainer.python.dlrm.map",
     .against = "PyTorch's DataLoader, a sample at a time, best worker count",
     .unit = "samples/s", .bar = 1.3, .runs_max = 5, .peer = "torch",
     .prepare = prepare_torch_map, .ours = dlrm_weir, .theirs = dlrm_map},
    {.name = "trainer.python.dlrm.vectorised",
     .against = "PyTorch's DataLoader, one gather from memory a batch, best worker count",
     .unit = "samples/s", .bar = 0.95, .runs_max = 5, .peer = "torch",
     .prepare = prepare_torch_vectorised, .ours = dlrm_weir, .theirs = dlrm_vectorised},
    {.name = "trainer.python.dlrm.memory", .against = "150 000 samples/s: that the network is light enough",
     .unit = "samples/s", .bar = 1, .runs_max = BENCH_RUNS_FEW,
     .prepare = prepare_torch_memory, .ours = dlrm_memory, .theirs = dlrm_wanted},
    {.name = "trainer.python.dlrm.stall", .against = "2 % of the time between the first step and the last",
     .unit = "1/share", .bar = 1, .runs_max = BENCH_RUNS_FEW,
     .prepare = prepare_torch_memory, .ours = stall, .theirs = stall_allowed},
    {.name = "trainer.python.handing.clicks",
     .against = "25 us beyond the C loop, for a batch of five arrays",
     .unit = "1/us", .bar = 1, .runs_max = BENCH_RUNS_FEW,
     .prepare = prepare_loop, .ours = handing_all, .theirs = handing_all_allowed},
    {.name = "trainer.python.handing.one", .against = "10 us beyond the C loop, for one array of it",
     .unit = "1/us", .bar = 1, .runs_max = BENCH_RUNS_FEW,
     .prepare = prepare_loop, .ours = handing_one, .theirs = handing_one_allowed},
    {.name = "trainer.text_embedding.relaxed", .against = "fastText, one thread, the same words and parameters",
     .unit = "samples/CPU s", .bar = 1, .runs_max = 5, .peer = "fasttext",
     .prepare = prepare_titles, .ours = titles_ours, .theirs = titles_theirs},
    {.name = "trainer.text_embedding.deterministic", .against = "the same",
     .unit = "samples/CPU s", .runs_max = 5, .peer = "fasttext",
     .prepare = prepare_titles_in_order, .ours = titles_in_order_ours, .theirs = titles_in_order_theirs},
    {.name = "trainer.text_embedding.accuracy", .against = "fastText's, half a point less",
     .unit = "share", .bar = 1, .runs_max = 1, .tolerance = BENCH_REPEATABLE, .peer = "fasttext",
     .prepare = prepare_titles, .ours = titles_quality, .theirs = titles_wanted},
    {.name = "trainer.mails", .against = "fastText, one thread, the same words of mails and parameters",
     .unit = "samples/CPU s", .runs_max = 5, .peer = "fasttext",
     .prepare = prepare_mails, .ours = mails_ours, .theirs = mails_theirs},
    {.name = "trainer.mails.accuracy", .against = "fastText's, half a point less",
     .unit = "share", .bar = 1, .runs_max = 1, .tolerance = BENCH_REPEATABLE, .peer = "fasttext",
     .prepare = prepare_mails, .ours = mails_quality, .theirs = mails_wanted},
    {.name = "trainer.linear", .against = "scikit-learn's SGDClassifier, the same epochs, rows in memory",
     .unit = "samples/CPU s", .peer = "sklearn",
     .prepare = prepare_linear, .ours = linear_ours, .theirs = linear_theirs},
    {.name = "trainer.linear.loss", .against = "the best weights', by scikit-learn's LogisticRegression, .005 less",
     .unit = "1/log loss", .bar = 1, .runs_max = 1, .tolerance = BENCH_REPEATABLE, .peer = "sklearn",
     .prepare = prepare_linear_at_best, .ours = linear_at_best_quality, .theirs = linear_at_best_wanted},
    {.name = "trainer.warm.built_in", .against = "10 ms from a sealed set to the first batch in a trainer that stayed",
     .unit = "1/ms", .bar = 1, .runs_max = BENCH_RUNS_FEW, .ours = warm_built_in, .theirs = warm_built_in_wanted},
    {.name = "trainer.warm.python", .against = "30 ms, of a program in Python",
     .unit = "1/ms", .bar = 1, .runs_max = BENCH_RUNS_FEW, .ours = warm_python, .theirs = warm_python_wanted},
    {.name = "trainer.warm.gap", .against = "5 % of the time lost between trainings of a second that are due",
     .unit = "1/share", .bar = 1, .runs_max = BENCH_RUNS_FEW, .ours = warm_gap, .theirs = warm_gap_allowed},
};
// clang-format on

static const struct bench TRAINER = {
    .name = "trainer",
    .summary = "what a training program gets of its time",
    .figures = FIGURES,
    .figure_count = WEIR_COUNT(FIGURES),
    .open = open_trainer,
    .close = close_trainer,
};

int main(int argc, char **argv)
{
    return bench_main(&TRAINER, argc, argv);
}
