/* Thousands of workers at once: what they cost the services, and how soon an erasure is in force among them. */
#include "benchmarks/pool/bench.h"

static const double CORES_MAX = 0.3, IN_FORCE_SECONDS_MAX = 3;

enum weir_status prepare_crowd(void *state, struct weir_error *err)
{
    struct pool_bench *bench = state;

    if (bench->crowd != NULL)
        return WEIR_OK;
    return pool_crowd_gather(bench->real.directory, (size_t)(POOL_CROWD * bench->real.scale),
                             &bench->crowd, err);
}

static enum weir_status load_of(struct pool_bench *bench, enum rig_service service,
                                double *ret_rate, struct weir_error *err)
{
    double cores = 0;
    enum weir_status status = pool_crowd_load(bench->crowd, service, &cores, err);

    *ret_rate = 1 / cores;
    return status;
}

enum weir_status crowd_storage(void *state, double *ret_rate, struct weir_error *err)
{
    return load_of(state, RIG_STORAGE, ret_rate, err);
}

enum weir_status crowd_dispatcher(void *state, double *ret_rate, struct weir_error *err)
{
    return load_of(state, RIG_DISPATCHER, ret_rate, err);
}

enum weir_status crowd_allowed(void *state, double *ret_rate, struct weir_error *err)
{
    (void)state, (void)err;
    *ret_rate = 1 / CORES_MAX;
    return WEIR_OK;
}

static enum weir_status force(struct pool_bench *bench, bool is_maimed, double *ret_rate,
                              struct weir_error *err)
{
    double seconds = 0;
    enum weir_status status = pool_crowd_erase(bench->crowd, is_maimed, &seconds, err);

    *ret_rate = 1 / seconds;
    return status;
}

enum weir_status crowd_in_force(void *state, double *ret_rate, struct weir_error *err)
{
    return force(state, false, ret_rate, err);
}

enum weir_status crowd_in_force_maimed(void *state, double *ret_rate, struct weir_error *err)
{
    return force(state, true, ret_rate, err);
}

enum weir_status crowd_in_force_allowed(void *state, double *ret_rate, struct weir_error *err)
{
    (void)state, (void)err;
    *ret_rate = 1 / IN_FORCE_SECONDS_MAX;
    return WEIR_OK;
}
