/* Pools of real workers, each on a platform of its own, and two jobs that are made by them: one that waits and one that
 * computes. */
#ifndef BENCHMARKS_POOL_REAL_H
#define BENCHMARKS_POOL_REAL_H

#include "benchmarks/slice/workload.h"

enum real_job { REAL_WAITING, REAL_COMPUTING, REAL_JOBS };

/* A platform with so many workers. */
struct real_pool {
    struct rig *rig;
    unsigned workers;
    uint64_t jobs; /* opened so far */
    struct workload work[REAL_JOBS];
};

struct real {
    const char *directory;
    double scale;
    struct corpus corpora[REAL_JOBS];
    struct real_pool one, many;
};

/* One job, as it was measured. */
struct real_run {
    enum real_job job;
    unsigned workers;
    double rate;         /* batches a second, from the first one on */
    double worker_cpu_s; /* CPU time of the workers for one */
    double taker_cpu_s;  /* the same of the consumer */
};

/* Starts a pool of one worker, and one of `workers` in the place of the one before. */
enum weir_status real_need(struct real *real, unsigned workers,
                           struct weir_error *err) WEIR_MUST_USE;
enum weir_status real_measure(struct real_pool *pool, enum real_job job, struct real_run *ret_run,
                              struct weir_error *err) WEIR_MUST_USE;
void real_fini(struct real *real); /* zeroed is fine */

/* Lets workers that are started from now on run the program that waits. */
void real_allow_program(void);

#endif
