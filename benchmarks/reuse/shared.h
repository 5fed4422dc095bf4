/* Equal jobs on pictures, each with a trainer that takes a while for a step: real processes, but for the trainers,
 * which are threads of the benchmark. */
#ifndef BENCHMARKS_REUSE_SHARED_H
#define BENCHMARKS_REUSE_SHARED_H

#include "benchmarks/slice/workload.h"

enum { SHARED_JOBS_MAX = 16 };

struct shared {
    struct rig *rig;
    struct corpus corpus;
    struct workload workload;
    uint64_t jobs; /* opened so far */
};

struct shared_taken {
    double batches_per_cpu_s; /* delivered to all, for a second of the workers' CPU time */
    double batches_per_s;     /* of the slowest */
};

/* Starts a platform with two workers and writes pictures for it. */
enum weir_status shared_open(struct shared *shared, const char *directory, double scale,
                             struct weir_error *err) WEIR_MUST_USE;
void shared_close(struct shared *shared); /* zeroed is fine */
/* Has `jobs` equal jobs delivered; IO unless each audit is clean. `is_disturbed`: the trainer of the first stands still
 * for a while, that of the second dies and comes back with its state, that of the third comes when the others are half
 * through; these do not count in the slowest. */
enum weir_status shared_run(struct shared *shared, size_t jobs, bool is_disturbed,
                            struct shared_taken *ret_taken, struct weir_error *err) WEIR_MUST_USE;

#endif
