/* Choice inside a batch (batch-then-sample): which of its samples a step learns from, by how the model fares with them,
 * and by which factor each then counts. Pure. */
#ifndef WEIR_TRAINER_CLIENT_MODELS_CHOICE_H
#define WEIR_TRAINER_CLIENT_MODELS_CHOICE_H

#include "core/config/sections.h"

#include <stddef.h>

/* A batch of which some samples are chosen. */
struct choice_input {
    size_t samples;
    uint64_t seed;       /* of this batch */
    const double *score; /* of each sample: its loss, norm of its gradient, or doubt */
};

/* Returns how many of the samples are chosen: at least one. */
size_t trainer_choice_count(const struct cfg_batch_then_sample *options, size_t samples);

/* Writes the factor of each sample's weight, 0: not chosen. By loss or gradient norm, samples are drawn in a race of
 * their scores, and count by what makes up for it (core/base/race.h). By uncertainty the highest are chosen, of equal
 * ones the first, by 1 each. */
void trainer_choose(const struct cfg_batch_then_sample *options, const struct choice_input *input,
                    float *factors);

#endif
