/* Built-in models, each one const table over one parameter block. A model is pure: it reads no
 * clock, file or global, so the same batches in the same order make the same bytes. To add one:
 * write model_NAME.c and name it in registry.c. The parameter block is a matrix of `rows` x `width`
 * floats: one row per input (feature, token, bias), one column per output. So a class more is a
 * column more, and a batch that touches few rows costs few rows. */
#ifndef WEIR_TRAINER_CLIENT_MODELS_MODEL_H
#define WEIR_TRAINER_CLIENT_MODELS_MODEL_H

#include "core/base/error.h"
#include "core/base/rng.h"
#include "core/config/plugin.h"
#include "trainer_client/models/gradient.h"

#include <weir/client.h>

/* A model with its options, fitted to the tensors it will see. */
struct model_plan {
    const struct model *model;
    const void *options; /* of model->options_size bytes */
    uint64_t rows;
    uint32_t width;     /* outputs per sample: set before plan() */
    uint32_t embedding; /* floats that embed() writes per sample */
};

struct model {
    CFG_PLUGIN;

    /* Required. Sets rows and embedding from the options and the tensors of any batch of the job.
     * INVALID, naming the tensor, when the model cannot work on them. */
    enum weir_status (*plan)(struct model_plan *plan, const struct weir_batch *batch,
                             struct weir_error *err);
    /* Required. Writes the parameters to begin with. */
    void (*init)(const struct model_plan *plan, struct weir_rng *rng, float *parameters);
    /* Required. Bytes of the block that forward() leaves its intermediate results in for this
     * batch. */
    size_t (*scratch_bytes)(const struct model_plan *plan, const struct weir_batch *batch);
    /* Required. outputs (samples, width): raw scores, before the loss turns them into
     * probabilities. INVALID, naming the sample's id, for a value that the plan excludes. */
    enum weir_status (*forward)(const struct model_plan *plan, const float *parameters,
                                const struct weir_batch *batch, void *scratch, float *outputs,
                                struct weir_error *err);
    /* Required. Adds d loss / d parameters, given d loss / d outputs (samples, width) and
     * forward()'s scratch. */
    void (*backward)(const struct model_plan *plan, const struct weir_batch *batch,
                     const void *scratch, const float *output_gradient, struct gradient *gradient);
    /* Required. embeddings (samples, embedding), from forward()'s scratch. */
    void (*embed)(const struct model_plan *plan, const struct weir_batch *batch,
                  const void *scratch, float *embeddings);
};

CFG_REGISTRY(model, struct model, TRAINER_MODELS)

#endif
