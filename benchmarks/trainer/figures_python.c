/* Python as a trainer: a network on Weir's batches against the same on PyTorch's loader; handing a batch over. */
#include "benchmarks/peers/peer.h"
#include "benchmarks/trainer/bench.h"

#include "core/base/memory.h"

#include <stdlib.h>

static const double STALL_ALLOWED = 0.02, ALL_ALLOWED_US = 25, ONE_ALLOWED_US = 10,
                    LIGHT_ENOUGH = 150000;

/* ---- PyTorch's side ---- */

static enum weir_status choose(struct trainer_bench *bench, enum trainer_style style,
                               const char *name, struct weir_error *err)
{
    WEIR_AUTO_FREE char *arguments =
        weir_format("%s %s %d", name, bench->clicks.directory, TRAINER_BATCH);

    if (bench->theirs[style] != NULL)
        return WEIR_OK;
    return peer_choose("torch", "dlrm_torch.py", arguments, &bench->theirs[style], err);
}

enum weir_status prepare_torch_map(void *state, struct weir_error *err)
{
    return choose(state, STYLE_MAP, "map", err);
}

enum weir_status prepare_torch_vectorised(void *state, struct weir_error *err)
{
    return choose(state, STYLE_VECTORISED, "vectorised", err);
}

/* It has no workers to choose from. */
enum weir_status prepare_torch_memory(void *state, struct weir_error *err)
{
    struct trainer_bench *bench = state;
    double rate;

    WEIR_AUTO_FREE char *arguments =
        weir_format("memory %s %d 0", bench->clicks.directory, TRAINER_BATCH);
    if (bench->theirs[STYLE_MEMORY] == NULL)
        bench->theirs[STYLE_MEMORY] = peer_command("dlrm_torch.py", arguments);
    return peer_run("torch", bench->theirs[STYLE_MEMORY], &rate, err);
}

#define THEIRS(name, style)                                                      \
    enum weir_status name(void *state, double *ret_rate, struct weir_error *err) \
    {                                                                            \
        const struct trainer_bench *bench = state;                               \
        return peer_run("torch", bench->theirs[style], ret_rate, err);           \
    }
THEIRS(dlrm_map, STYLE_MAP)
THEIRS(dlrm_vectorised, STYLE_VECTORISED)
THEIRS(dlrm_memory, STYLE_MEMORY)

/* ---- ours ---- */

static enum weir_status run_python(const struct trainer_bench *bench, const char *script,
                                   const char *metric, double *ret_value, struct weir_error *err)
{
    WEIR_AUTO_FREE char *command = trainer_python(script);

    return trainer_run(bench, command, metric, ret_value, err);
}

enum weir_status dlrm_weir(void *state, double *ret_rate, struct weir_error *err)
{
    return run_python(state, "dlrm_weir.py", "samples_per_second", ret_rate, err);
}

enum weir_status stall(void *state, double *ret_rate, struct weir_error *err)
{
    double share = 0;
    enum weir_status status = run_python(state, "dlrm_weir.py", "stall", &share, err);

    if (status == WEIR_OK)
        *ret_rate = 1 / share;
    return status;
}

/* ---- handing over ---- */

enum weir_status prepare_loop(void *state, struct weir_error *err)
{
    struct trainer_bench *bench = state;

    enum weir_status status = peer_need_module("torch", "torch", err);
    if (status != WEIR_OK || bench->loop_us > 0)
        return status;
    return trainer_run(bench, WEIR_HANDING_LOOP, "loop", &bench->loop_us, err);
}

static enum weir_status handing(const struct trainer_bench *bench, const char *metric,
                                double *ret_rate, struct weir_error *err)
{
    enum { LEAST_US = 1 }; /* below it nobody cares */
    double us = 0;
    enum weir_status status = run_python(bench, "handing.py", metric, &us, err);
    double beyond_us = us - bench->loop_us;

    if (status == WEIR_OK)
        *ret_rate = 1 / (beyond_us > LEAST_US ? beyond_us : LEAST_US);
    return status;
}

enum weir_status handing_all(void *state, double *ret_rate, struct weir_error *err)
{
    return handing(state, "all", ret_rate, err);
}

enum weir_status handing_one(void *state, double *ret_rate, struct weir_error *err)
{
    return handing(state, "one", ret_rate, err);
}

#define WANTED(name, rate)                                                       \
    enum weir_status name(void *state, double *ret_rate, struct weir_error *err) \
    {                                                                            \
        (void)state;                                                             \
        (void)err;                                                               \
        *ret_rate = (rate);                                                      \
        return WEIR_OK;                                                          \
    }
WANTED(dlrm_wanted, LIGHT_ENOUGH)
WANTED(stall_allowed, 1 / STALL_ALLOWED)
WANTED(handing_all_allowed, 1 / ALL_ALLOWED_US)
WANTED(handing_one_allowed, 1 / ONE_ALLOWED_US)
