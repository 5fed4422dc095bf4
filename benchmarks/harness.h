/* The harness of every benchmark: what a figure is, how it is measured, how it is printed (C15).
 *
 * A figure compares two ways of doing the same work in one run on one machine: first both once as a
 * warm-up, then pairs, interleaved (ours, theirs, ours, theirs, …). Each pair gives a ratio of
 * rates, and what is reported is the median ratio with its range. Times of different runs or
 * machines are never compared. */
#ifndef BENCHMARKS_HARNESS_H
#define BENCHMARKS_HARNESS_H

#include "core/base/bytes.h"
#include "core/base/error.h"

#include <stddef.h>

/* BENCH_RUNS_FEW: of figures that take long. Of two runs with fewer pairs each no difference, however large, can be
 * told from chance at 95 % (compare.py). */
enum { BENCH_RUNS = 7, BENCH_RUNS_FEW = 4, BENCH_RUNS_MAX = 1000 };

/* The tolerance of figures that the same data give again: accuracies, and bytes. */
#define BENCH_REPEATABLE 0.01

/* Does the whole work of one side once; `*ret_rate` is how much of it was done per second. */
typedef enum weir_status bench_side_fn(void *state, double *ret_rate, struct weir_error *err);

struct bench_figure {
    const char *name;    /* "slice.batches.records" */
    const char *against; /* "the same work in one process" */
    const char *unit;    /* "samples/s" */
    double bar;          /* the median ratio ours / theirs must not be below; 0: only reported */
    size_t runs_max;     /* pairs, where more would say nothing new; 0: as many as --runs says */
    double tolerance; /* share of an earlier run's ratio whose loss is no regression; 0: a tenth */
    const char *peer; /* the product that `theirs` drives, a name of peers/packages; NULL: none */
    /* Optional: what has to be there before the warm-up, in no measured time. UNAVAILABLE: what it is
     * compared with is not installed, the figure is skipped. */
    enum weir_status (*prepare)(void *state, struct weir_error *err);
    bench_side_fn *ours;
    bench_side_fn *theirs;
};

struct bench {
    const char *name;    /* "slice": the program is bench_slice */
    const char *summary; /* one sentence for --help */
    const struct bench_figure *figures;
    size_t figure_count;
    /* Builds what all figures share. `directory` is empty, may be filled, and is removed later.
     * `scale` multiplies the amount of data: 1 is what the figures are stated for. */
    enum weir_status (*open)(const char *directory, double scale, void **ret_state,
                             struct weir_error *err);
    void (*close)(void *state);
};

/* main() of a benchmark: --help, --json, --runs N, --scale F, --peer P, and figures by the beginnings of their names.
 * Exit codes: 0 every bar is cleared, 1 one is not or something failed, 2 bad usage. */
int bench_main(const struct bench *bench, int argc, char **argv);

/* Returns the spread of `count` > 0 values, which are sorted in place. */
struct bench_spread {
    double median, min, max;
};
struct bench_spread bench_spread_of(double *values, size_t count);

/* The rates of both sides, pair by pair. */
struct bench_pairs {
    const double *ours, *theirs;
    size_t count; /* from 1 to BENCH_RUNS_MAX */
};
struct bench_spread bench_ratio_of(const struct bench_pairs *pairs);

/* Appends the line of C15 about a figure, without the line end; every pair follows the keys that C15 names. */
void bench_figure_json(const struct bench_figure *figure, const struct bench_pairs *pairs,
                       struct weir_buf *out);

#endif
