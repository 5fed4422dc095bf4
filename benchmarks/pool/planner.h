/* Random pipelines on simulated cores, and the number of workers that is planned for them (E12): by the model of a job
 * and the linear programme, from reports with noise. The pipeline itself, its bandwidth and its bound are hidden from
 * the planner; cores, and which operators are sequential, are told. Pure, and the same for the same seed. */
#ifndef BENCHMARKS_POOL_PLANNER_H
#define BENCHMARKS_POOL_PLANNER_H

#include "preprocess/scale/optimum.h"

enum { PLANNER_OPERATORS_MAX = 8, PLANNER_WORKERS_MAX = 256 };

struct planner_pipeline {
    double cores;
    double read_s, read_bytes; /* of a batch, alone; it holds no core */
    struct optimum_piece pieces[2];
    size_t piece_count;                        /* of the bandwidth; 0: it is no limit */
    double seconds[PLANNER_OPERATORS_MAX];     /* of a core, for a batch */
    bool is_sequential[PLANNER_OPERATORS_MAX]; /* one worker at a time */
    size_t operator_count;
};

void planner_draw(uint64_t seed, struct planner_pipeline *ret_pipeline);
/* Returns the optimum of the linear programme: no number of workers makes more. */
double planner_bound(const struct planner_pipeline *pipeline);
/* Returns the batches a second that so many workers make, each of which brings one batch after another through all
 * stages; they share the cores evenly. */
double planner_rate(const struct planner_pipeline *pipeline, uint32_t workers, uint64_t seed);
/* Returns the whole workers that are planned after a few reports with so much noise. */
uint32_t planner_choose(const struct planner_pipeline *pipeline, double noise, uint64_t seed);

#endif
