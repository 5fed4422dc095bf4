/* Gradient clipping, as PyTorch's clip_grad_norm_ (Pascanu, Mikolov, Bengio 2013, algorithm 1)
 * and clip_grad_value_. Pure. */
#ifndef WEIR_TRAINER_CLIENT_MODELS_CLIP_H
#define WEIR_TRAINER_CLIENT_MODELS_CLIP_H

#include "core/config/schema.h"
#include "trainer_client/models/gradient.h"

/* The mapping `training.clip`: one of both, or neither. */
struct clip_options {
    double norm;  /* of all of a step's gradient; 0: any */
    double value; /* of each of its numbers; 0: any */
};
extern const struct cfg_key TRAINER_CLIP_KEYS[];

/* Clips the gradients of all blocks of parameters: their norm is that of one vector. */
void trainer_clip(const struct clip_options *options, struct gradient gradients[], size_t count);

#endif
