/* Built-in models, each one const table over named parameter blocks. A model is pure: it reads no
 * clock, file or global, so the same batches in the same order make the same bytes. To add one:
 * write model_NAME.c and name it in registry.c. A block is a matrix of floats, (rows, width): one
 * row per input (feature, token, bias), so that a batch that touches few rows costs few rows. Where
 * a block is `by_output`, each output has columns of its own, side by side in the order of the
 * outputs: one class more is some columns more. The parameters are the blocks end to end, and so
 * are their gradients, one each. */
#ifndef WEIR_TRAINER_CLIENT_MODELS_MODEL_H
#define WEIR_TRAINER_CLIENT_MODELS_MODEL_H

#include "core/base/error.h"
#include "core/base/rng.h"
#include "core/config/plugin.h"
#include "core/wire/model_file.h"
#include "trainer_client/models/gradient.h"

#include <weir/client.h>

enum { MODEL_BLOCKS_MAX = WEIR_MODEL_BLOCKS_MAX };

/* A parameter block, by the model's table; its shape is the plan's. */
struct model_block {
    const char *name; /* NULL ends the table */
    bool by_output;
};

struct model_shape {
    uint64_t rows;
    uint32_t columns; /* of each output, where the block is by_output */
};

/* A model with its options, fitted to the tensors it will see. */
struct model_plan {
    const struct model *model;
    const void *options;                        /* of model->options_size bytes */
    struct model_shape shape[MODEL_BLOCKS_MAX]; /* of model->blocks */
    uint32_t width;                             /* outputs per sample: set before plan() */
    uint32_t embedding;                         /* floats that embed() writes per sample */
    uint64_t tokens_below; /* bound of the tokens that it tells apart; 0: not a model of text */
};

struct model {
    CFG_PLUGIN;
    const struct model_block *blocks; /* required: 1 to MODEL_BLOCKS_MAX */

    /* Required. Sets shape, embedding and tokens_below from the options and the tensors of any batch of the job.
     * INVALID, naming the tensor, when the model cannot work on them. */
    enum weir_status (*plan)(struct model_plan *plan, const struct weir_batch *batch,
                             struct weir_error *err);
    /* Required. True for a tensor of such a batch that the model learns from. */
    bool (*reads)(const struct weir_batch *batch, const struct weir_tensor *tensor);
    /* Required. Writes the parameters to begin with. */
    void (*init)(const struct model_plan *plan, struct weir_rng *rng, float *parameters);
    /* Required. Bytes of the block that forward() leaves its intermediate results in for this
     * batch. A new block is zeroed; otherwise it is as the batch before has left it. */
    size_t (*scratch_bytes)(const struct model_plan *plan, const struct weir_batch *batch);
    /* Required. outputs (samples, width): raw scores, before the loss turns them into
     * probabilities. INVALID, naming the sample's id, for a value that the plan excludes. */
    enum weir_status (*forward)(const struct model_plan *plan, const float *parameters,
                                const struct weir_batch *batch, void *scratch, float *outputs,
                                struct weir_error *err);
    /* Optional. What backward() needs of each sample by itself, given d loss / d outputs (samples, width), forward()'s
     * parameters and its scratch, where a part that scratch_bytes() has counted for it may be written. */
    void (*prepare)(const struct model_plan *plan, const float *parameters,
                    const struct weir_batch *batch, void *scratch, const float *output_gradient);
    /* Required. Adds d loss / d parameters to `gradients`, one per block: to the rows that are this part's, sample by
     * sample in their order, so that each sum comes out the same however the rows are dealt out. */
    void (*backward)(const struct model_plan *plan, const float *parameters,
                     const struct weir_batch *batch, const void *scratch,
                     const float *output_gradient, const struct gradient_part gradients[]);
    /* Required. embeddings (samples, embedding), from forward()'s scratch. */
    void (*embed)(const struct model_plan *plan, const struct weir_batch *batch,
                  const void *scratch, float *embeddings);
};

size_t trainer_model_block_count(const struct model *model);
uint32_t trainer_model_block_width(const struct model_plan *plan, size_t block);
/* Floats of all blocks before `block`: its offset in the parameters. */
size_t trainer_model_block_at(const struct model_plan *plan, size_t block);
/* Floats of all blocks. */
size_t trainer_model_floats(const struct model_plan *plan);

/* Sets rows and blocks of a model file; width is set. */
void trainer_model_describe(const struct model_plan *plan, struct weir_model_file *file);

CFG_REGISTRY(model, struct model, TRAINER_MODELS)

#endif
