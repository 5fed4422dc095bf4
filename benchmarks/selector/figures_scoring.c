/* Figures about choosing by vectors. */
#include "benchmarks/selector/bench.h"
#include "benchmarks/selector/coreset.h"

static const uint64_t MEMORY_MAX = 1000000000;

static struct coreset twenty_thousand(const struct selector_bench *bench)
{
    return (struct coreset){.method = "submodular",
                            .options = "{function: facility_location, optimizer: lazy}",
                            .count = (size_t)(20000 * bench->scale) + 1,
                            .width = 64,
                            .target = (size_t)(2000 * bench->scale) + 1,
                            .memory_max = MEMORY_MAX,
                            .directory = bench->directory};
}

enum weir_status cover_lazily(void *state, double *ret_rate, struct weir_error *err)
{
    const struct coreset coreset = twenty_thousand(state);
    struct coreset_cost cost = {0};
    enum weir_status status = coreset_choose(&coreset, &cost, err);
    *ret_rate = (double)coreset.target / cost.seconds;
    return status;
}

enum weir_status cover_in_numpy(void *state, double *ret_rate, struct weir_error *err)
{
    const struct coreset coreset = twenty_thousand(state);
    struct coreset_cost cost = {0};
    enum weir_status status = coreset_compare(&coreset, &cost, err);
    *ret_rate = (double)coreset.target / cost.seconds;
    return status;
}

/* ---- memory ---- */

static enum weir_status peak_of(const struct selector_bench *bench, const char *method,
                                const char *options, double *ret_rate, struct weir_error *err)
{
    const struct coreset coreset = {.method = method,
                                    .options = options,
                                    .count = (size_t)(100000 * bench->scale) + 1,
                                    .width = 128,
                                    .target = (size_t)(1000 * bench->scale) + 1,
                                    .memory_max = MEMORY_MAX,
                                    .directory = bench->directory};
    struct coreset_cost cost = {0};
    enum weir_status status = coreset_choose(&coreset, &cost, err);
    *ret_rate = 1 / (double)cost.memory_peak;
    return status;
}

enum weir_status center_memory(void *state, double *ret_rate, struct weir_error *err)
{
    return peak_of(state, "k_center", "{}", ret_rate, err);
}

/* Stochastic, the fastest; lazy keeps 24 bytes a sample more. */
enum weir_status cover_memory(void *state, double *ret_rate, struct weir_error *err)
{
    return peak_of(state, "submodular", "{optimizer: stochastic, epsilon: 0.5}", ret_rate, err);
}

enum weir_status one_gigabyte(void *state, double *ret_rate, struct weir_error *err)
{
    (void)state;
    (void)err;
    *ret_rate = 1 / (double)MEMORY_MAX;
    return WEIR_OK;
}
