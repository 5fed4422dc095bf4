/* Optimizers: how a gradient changes the parameters. Pure, row by row, so that a batch costs what
 * it touched. The state has the shape of the parameter block, or none. To add one: a row in
 * optimizer.c. */
#ifndef WEIR_TRAINER_CLIENT_MODELS_OPTIMIZER_H
#define WEIR_TRAINER_CLIENT_MODELS_OPTIMIZER_H

#include "core/config/schema.h"
#include "trainer_client/models/gradient.h"

/* The mapping `training.optimizer`. */
struct optimizer_options {
    int name; /* index of trainer_optimizer_at() */
    double lr;
    double epsilon;
};
extern const struct cfg_key TRAINER_OPTIMIZER_OPTIONS[];

struct optimizer {
    const char *name;
    const char *summary;
    uint32_t state_per_parameter; /* floats: 0 or 1 */
    /* Changes one row of `width` parameters; `state` is the same row of the state, or NULL. */
    void (*update)(const struct optimizer_options *options, uint32_t width, const float *gradient,
                   float *parameters, float *state);
};

const struct optimizer *trainer_optimizer_at(size_t index); /* NULL beyond the end */
const struct optimizer *trainer_optimizer_find(const char *name);

/* Applies every touched row. `state` may be NULL when the optimizer has none. */
void trainer_optimizer_apply(const struct optimizer *optimizer,
                             const struct optimizer_options *options,
                             const struct gradient *gradient, float *parameters, float *state);

#endif
