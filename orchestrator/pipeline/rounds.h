/* Rounds of a training: its epochs, cut where the set is chosen again (selection.score.period). Pure. */
#ifndef ORCHESTRATOR_PIPELINE_ROUNDS_H
#define ORCHESTRATOR_PIPELINE_ROUNDS_H

#include <stdbool.h>
#include <stdint.h>

struct round_length {
    uint64_t epochs; /* at least 1 */
    bool is_last;
};

/* The round after `before` of `in_all` epochs. With period 0 it has all that are left. */
struct round_length orchestrator_round_length(uint64_t in_all, uint64_t before, uint64_t period);
/* The seed of a round, from 0, of a training with this one: the first has it, others draw their own numbers. Below
 * 2^31, so that any program can seed with it. */
uint64_t orchestrator_round_seed(uint64_t seed, int64_t round);

#endif
