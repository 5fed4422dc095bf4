/* State shared by the figures of bench_orchestrator. */
#ifndef BENCHMARKS_ORCHESTRATOR_BENCH_H
#define BENCHMARKS_ORCHESTRATOR_BENCH_H

#include "benchmarks/harness.h"

struct orchestrator_bench {
    const char *directory; /* borrowed */
    double scale;
    bool has_models, has_delta;
};

bench_side_fn mmd_here, mmd_in_numpy, mmd_in_a_loop;
bench_side_fn evaluate_triggers, twenty_million_samples;
/* Two models; and the difference between them. Both are made once. */
enum weir_status prepare_models(void *state, struct weir_error *err);
enum weir_status prepare_delta(void *state, struct weir_error *err);
bench_side_fn store_delta, store_whole, load_delta, load_both, load_whole, delta_size, whole_size,
    zstd_size;

/* Times in a pipeline whose every sample is a trigger, medians from the firing of a trigger: until its
 * first batch is in the trainer, until its model is measured. Parts go to stderr. */
bench_side_fn reach_the_trainer, ten_a_second, go_through_a_cycle, cycle_allowed;

#endif
