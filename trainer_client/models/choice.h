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

/* Returns the doubt of a model about a sample, from its prediction: (width) probabilities, or of two classes that of
 * the second one. More is less sure (Settles, Active Learning Literature Survey, 2009, section 3.1). */
double trainer_choice_doubt(const float *prediction, size_t width, enum cfg_uncertainty metric);

/* Returns how many of the samples are chosen: at least one. */
size_t trainer_choice_count(const struct cfg_batch_then_sample *options, size_t samples);

/* Writes the factor of each sample's weight, 0: not chosen. By loss or gradient norm, samples are drawn one after the
 * other with probability score / sum of what is left (Efraimidis, Spirakis, Weighted random sampling with a reservoir,
 * 2006), and count by 1 / (n p), p = score / sum of all, at most 1e6, so that the weighted mean is that of the batch
 * (Katharopoulos, Fleuret 2018, equation 5); who has no score comes after all others, by 1. By uncertainty the highest
 * are chosen, of equal ones the first, by 1 each. */
void trainer_choose(const struct cfg_batch_then_sample *options, const struct choice_input *input,
                    float *factors);

#endif
