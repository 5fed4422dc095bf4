/* What the figures of bench_orchestrator share. */
#ifndef BENCHMARKS_ORCHESTRATOR_BENCH_H
#define BENCHMARKS_ORCHESTRATOR_BENCH_H

#include "benchmarks/harness.h"

struct orchestrator_bench {
    const char *directory; /* borrowed */
    double scale;
};

bench_side_fn mmd_here, mmd_in_numpy, mmd_in_a_loop;

#endif
