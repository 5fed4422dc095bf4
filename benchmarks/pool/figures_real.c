/* Real pools: how much of what one worker makes each of many makes, and how well the simulator foretells it. */
#include "benchmarks/pool/bench.h"

#include "core/base/memory.h"

#include <math.h>
#include <stdio.h>
#include <unistd.h>

static enum weir_status measure(struct real_pool *pool, enum real_job job, double *ret_rate,
                                struct real_run *ret_run, struct weir_error *err)
{
    enum weir_status status = real_measure(pool, job, ret_run, err);
    *ret_rate = ret_run->rate;
    return status;
}

/* From the costs of one worker alone, and the cores of this machine. */
static double foretell(const struct real_run *one, unsigned workers)
{
    const struct pool_costs costs = {
        .operator_s = {1 / one->rate},
        .operator_count = 1,
        .cpu_s = one->batch_cpu_s,
        .cores = (double)sysconf(_SC_NPROCESSORS_ONLN),
    };
    return pool_foretell(&costs, 0, workers);
}

static enum weir_status measure_many(struct pool_bench *bench, enum real_job job, double *ret_rate,
                                     struct weir_error *err)
{
    return measure(&bench->real.many, job, ret_rate, &bench->many, err);
}

/* So many times one worker. */
static enum weir_status measure_one(struct pool_bench *bench, enum real_job job, double *ret_rate,
                                    struct weir_error *err)
{
    unsigned workers = bench->real.many.workers;
    enum weir_status status = measure(&bench->real.one, job, ret_rate, &bench->one, err);
    *ret_rate *= workers;
    if (status == WEIR_OK)
        fprintf(stderr, "%u workers: simulated %.1f batches/s, measured %.1f\n", workers,
                foretell(&bench->one, workers), bench->many.rate);
    return status;
}

#define PREPARE(WORKERS)                                                         \
    enum weir_status prepare_real_##WORKERS(void *state, struct weir_error *err) \
    {                                                                            \
        return real_need(&((struct pool_bench *)state)->real, WORKERS, err);     \
    }
PREPARE(2)
PREPARE(4)
PREPARE(8)
PREPARE(16)

enum weir_status waiting_many(void *state, double *ret_rate, struct weir_error *err)
{
    return measure_many(state, REAL_WAITING, ret_rate, err);
}

enum weir_status waiting_one(void *state, double *ret_rate, struct weir_error *err)
{
    return measure_one(state, REAL_WAITING, ret_rate, err);
}

enum weir_status computing_many(void *state, double *ret_rate, struct weir_error *err)
{
    return measure_many(state, REAL_COMPUTING, ret_rate, err);
}

enum weir_status computing_one(void *state, double *ret_rate, struct weir_error *err)
{
    return measure_one(state, REAL_COMPUTING, ret_rate, err);
}
