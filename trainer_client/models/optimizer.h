/* Optimizers: how a gradient changes the parameters. Pure, row by row, so that a batch costs what it touched: momentum,
 * means and weight decay of a row stand still while no batch touches it, as in PyTorch's SparseAdam. The state is a
 * number of blocks, each of the shape of the parameters. To add one: a row in optimizer.c. */
#ifndef WEIR_TRAINER_CLIENT_MODELS_OPTIMIZER_H
#define WEIR_TRAINER_CLIENT_MODELS_OPTIMIZER_H

#include "core/config/plugin.h"
#include "core/wire/model_file.h"
#include "trainer_client/models/gradient.h"

/* The mapping `training.optimizer`: each optimizer reads the members that its keys name. */
struct optimizer_options {
    double lr;
    double weight_decay;
    double momentum;
    double beta1, beta2;
    double epsilon;
};

/* One step, as all rows see it. */
struct optimizer_step {
    const struct optimizer_options *options;
    double lr;        /* the options', as the schedule has it now */
    double bias1;     /* 1 - beta1^t at the t-th step of the state */
    float bias2_root; /* the root of 1 - beta2^t */
};
/* The `number`-th step of the state, from 1, at `lr`. */
struct optimizer_step trainer_optimizer_step(const struct optimizer_options *options, double lr,
                                             uint64_t number);

/* A row of parameters with what belongs to it. */
struct optimizer_row {
    uint32_t width;
    const float *gradient;
    float *parameters;
    float *state[WEIR_MODEL_STATE_BLOCKS_MAX]; /* of each block; NULL behind the last */
};

struct optimizer {
    CFG_PLUGIN;
    /* Required. Blocks of its state, at most WEIR_MODEL_STATE_BLOCKS_MAX. All begin as zeros. */
    uint32_t (*state_blocks)(const struct optimizer_options *options);
    /* Required. Changes the parameters and the state of one row. */
    void (*update)(const struct optimizer_step *step, const struct optimizer_row *row);
};

CFG_REGISTRY(trainer_optimizer, struct optimizer, TRAINER_OPTIMIZERS)

/* A block of parameters and its state: `blocks` blocks, `stride` floats from one to the next. */
struct optimizer_block {
    float *parameters;
    float *state; /* NULL: none */
    uint32_t blocks;
    size_t stride;
};
/* Applies every touched row of the part. */
void trainer_optimizer_apply(const struct optimizer *optimizer, const struct optimizer_step *step,
                             const struct gradient_part *part, const struct optimizer_block *block);

#endif
