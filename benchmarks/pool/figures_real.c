/* Real pools: how much of what one worker makes each of many makes, and how well the simulator foretells it. */
#include "benchmarks/pool/bench.h"

#include <unistd.h>

enum { SPEEDUP_WORKERS = 64 };
static const double SPEEDUP_PUBLISHED = 31.7;

static enum weir_status measure(struct real_pool *pool, enum real_job job, double *ret_rate,
                                struct real_run *ret_run, struct weir_error *err)
{
    enum weir_status status = real_measure(pool, job, ret_run, err);
    *ret_rate = ret_run->rate;
    return status;
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
    enum weir_status status = measure(&bench->real.one, job, ret_rate, &bench->one, err);
    *ret_rate *= bench->real.many.workers;
    return status;
}

/* ---- the simulator ---- */

/* From the costs of one worker alone, and the cores of this machine, which all share. */
static double foretell(const struct real_run *one, unsigned workers)
{
    const struct pool_costs costs = {
        .operator_s = {1 / one->rate},
        .operator_count = 1,
        .cpu_s = one->worker_cpu_s + one->taker_cpu_s,
        .cores = (double)sysconf(_SC_NPROCESSORS_ONLN),
    };
    return pool_foretell(&costs, one->taker_cpu_s, workers);
}

/* The newest runs serve, if they are of this job and these workers. */
static enum weir_status measured(struct pool_bench *bench, enum real_job job, double *ret_rate,
                                 struct weir_error *err)
{
    enum weir_status status = WEIR_OK;
    if (bench->many.job != job || bench->many.workers != bench->real.many.workers)
        status = measure_many(bench, job, ret_rate, err);
    *ret_rate = bench->many.rate;
    return status;
}

static enum weir_status foretold(struct pool_bench *bench, enum real_job job, double *ret_rate,
                                 struct weir_error *err)
{
    enum weir_status status = WEIR_OK;
    if (bench->one.job != job || bench->one.workers != 1)
        status = measure_one(bench, job, ret_rate, err);
    *ret_rate = foretell(&bench->one, bench->real.many.workers);
    return status;
}

/* With a core for each worker and one for the consumer, in parts of one worker's rate. */
enum weir_status speedup_foretold(void *state, double *ret_rate, struct weir_error *err)
{
    struct pool_bench *bench = state;
    double rate;
    enum weir_status status = foretold(bench, REAL_COMPUTING, &rate, err);
    const struct pool_costs costs = {.operator_s = {1 / bench->one.rate}, .operator_count = 1};
    *ret_rate = pool_foretell(&costs, bench->one.taker_cpu_s, SPEEDUP_WORKERS) / bench->one.rate;
    return status;
}

enum weir_status speedup_published(void *state, double *ret_rate, struct weir_error *err)
{
    (void)state, (void)err;
    *ret_rate = SPEEDUP_PUBLISHED;
    return WEIR_OK;
}

/* ---- figures ---- */

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

enum weir_status waiting_measured(void *state, double *ret_rate, struct weir_error *err)
{
    return measured(state, REAL_WAITING, ret_rate, err);
}

enum weir_status waiting_foretold(void *state, double *ret_rate, struct weir_error *err)
{
    return foretold(state, REAL_WAITING, ret_rate, err);
}

enum weir_status computing_measured(void *state, double *ret_rate, struct weir_error *err)
{
    return measured(state, REAL_COMPUTING, ret_rate, err);
}

enum weir_status computing_foretold(void *state, double *ret_rate, struct weir_error *err)
{
    return foretold(state, REAL_COMPUTING, ret_rate, err);
}
