/* The number of workers that the linear programme plans for pipelines that it does not know (E12). */
#include "benchmarks/pool/bench.h"
#include "benchmarks/pool/planner.h"

#include <math.h>
#include <stdio.h>

enum { PIPELINES = 200 };
static const double PLANNER_NOISE = 0.05;

enum weir_status prepare_planner(void *state, struct weir_error *err)
{
    struct pool_bench *bench = state;
    double of_bound[PIPELINES], of_written[PIPELINES], of_cores[PIPELINES];
    (void)err;
    if (bench->planned.median > 0)
        return WEIR_OK;
    for (uint64_t i = 0; i < PIPELINES; i++) {
        struct planner_pipeline pipeline;
        planner_draw(i, &pipeline);
        double rate = planner_rate(&pipeline, planner_choose(&pipeline, PLANNER_NOISE, i), i);
        of_bound[i] = rate / planner_bound(&pipeline);
        of_written[i] = rate / planner_rate(&pipeline, 1, i);
        of_cores[i] = rate / planner_rate(&pipeline, (uint32_t)pipeline.cores, i);
    }
    bench->planned = bench_spread_of(of_bound, PIPELINES);
    bench->planned_by_written = bench_spread_of(of_written, PIPELINES);
    struct bench_spread by_cores = bench_spread_of(of_cores, PIPELINES);
    fprintf(stderr,
            "simulated: %d pipelines: share of the optimum %.3f (%.3f to %.3f); times one worker "
            "%.2f (%.2f to %.2f), one a core %.2f (%.2f to %.2f)\n",
            PIPELINES, bench->planned.median, bench->planned.min, bench->planned.max,
            bench->planned_by_written.median, bench->planned_by_written.min,
            bench->planned_by_written.max, by_cores.median, by_cores.min, by_cores.max);
    return WEIR_OK;
}

enum weir_status planner_share(void *state, double *ret_rate, struct weir_error *err)
{
    (void)err;
    *ret_rate = ((struct pool_bench *)state)->planned.median;
    return WEIR_OK;
}

enum weir_status planner_least(void *state, double *ret_rate, struct weir_error *err)
{
    (void)err;
    *ret_rate = ((struct pool_bench *)state)->planned_by_written.min;
    return WEIR_OK;
}

enum weir_status planner_whole(void *state, double *ret_rate, struct weir_error *err)
{
    (void)state, (void)err;
    *ret_rate = 1;
    return WEIR_OK;
}
