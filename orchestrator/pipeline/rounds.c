/* Cutting a training into rounds. */
#include "orchestrator/pipeline/rounds.h"

#include "core/base/rng.h"

struct round_length orchestrator_round_length(uint64_t in_all, uint64_t before, uint64_t period)
{
    uint64_t left = in_all > before ? in_all - before : 1; /* another file may have fewer */
    bool is_last = period == 0 || period >= left;
    return (struct round_length){is_last ? left : period, is_last};
}

uint64_t orchestrator_round_seed(uint64_t seed, int64_t round)
{
    return round == 0 ? seed : weir_mix64(weir_mix64(seed) + (uint64_t)round) >> 33;
}
