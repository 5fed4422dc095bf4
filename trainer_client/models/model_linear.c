/* A linear model over all dense f32 tensors of the batch, side by side: outputs = features * W + b.
 * With the logistic loss this is logistic regression, with softmax its multinomial form, with
 * squared least squares. It learns no embedding: embed() gives its input. */
#include "trainer_client/models/model.h"
#include "trainer_client/models/tensors.h"

#include <string.h>

struct linear {
    bool bias;
};

static const struct cfg_key OPTIONS[] = {
    CFG_BOOL(struct linear, bias, .fallback = "true",
             .doc = "learn a constant beside the features"),
    CFG_END,
};

static const struct model_block BLOCKS[] = {{"parameters", .by_output = true}, {0}};

/* Features, without the constant. */
static size_t features_of(const struct model_plan *plan)
{
    return (size_t)plan->shape[0].rows - ((const struct linear *)plan->options)->bias;
}

static bool reads_linear(const struct weir_batch *batch, const struct weir_tensor *tensor)
{
    (void)batch;
    return trainer_tensors_is_dense(tensor);
}

static enum weir_status plan_linear(struct model_plan *plan, const struct weir_batch *batch,
                                    struct weir_error *err)
{
    size_t features = trainer_tensors_features(batch);
    if (features == 0) {
        char found[200];
        trainer_tensors_describe(batch, found, sizeof(found));
        return weir_fail(
            err, WEIR_INVALID,
            "model linear: expected a dense f32 tensor, found %s: add an operator that makes one "
            "(record_fields, csv_fields, cast)",
            found);
    }
    plan->shape[0] = (struct model_shape){
        .rows = features + ((const struct linear *)plan->options)->bias,
        .columns = 1,
    };
    plan->embedding = (uint32_t)features;
    return WEIR_OK;
}

static void init_linear(const struct model_plan *plan, struct weir_rng *rng, float *parameters)
{
    (void)rng; /* the loss is convex: zero is as good a beginning as any */
    memset(parameters, 0, plan->shape[0].rows * plan->width * sizeof(*parameters));
}

/* The scratch is the batch's features, (samples, features). */
static size_t linear_scratch_bytes(const struct model_plan *plan, const struct weir_batch *batch)
{
    return batch->samples * features_of(plan) * sizeof(float);
}

static void gather(const struct weir_batch *batch, size_t features, float *rows)
{
    size_t at = 0;
    for (size_t i = 0; i < batch->tensor_count; i++) {
        const struct weir_tensor *tensor = &batch->tensors[i];
        if (!trainer_tensors_is_dense(tensor))
            continue;
        size_t columns = trainer_tensors_columns(tensor);
        for (size_t s = 0; s < batch->samples; s++)
            memcpy(rows + s * features + at, (const float *)tensor->data + s * columns,
                   columns * sizeof(float));
        at += columns;
    }
}

static enum weir_status forward_linear(const struct model_plan *plan, const float *parameters,
                                       const struct weir_batch *batch, void *scratch,
                                       float *outputs, struct weir_error *err)
{
    size_t features = features_of(plan), width = plan->width;
    if (trainer_tensors_features(batch) != features)
        return weir_fail(err, WEIR_INVALID, "model linear: %zu features, the model has %zu",
                         trainer_tensors_features(batch), features);
    float *rows = scratch;
    gather(batch, features, rows);
    bool has_bias = plan->shape[0].rows > features;
    for (size_t s = 0; s < batch->samples; s++) {
        float *output = outputs + s * width;
        for (size_t k = 0; k < width; k++)
            output[k] = has_bias ? parameters[features * width + k] : 0.0f;
        for (size_t f = 0; f < features; f++) {
            for (size_t k = 0; k < width; k++)
                output[k] += rows[s * features + f] * parameters[f * width + k];
        }
    }
    return WEIR_OK;
}

static void backward_linear(const struct model_plan *plan, const float *parameters,
                            const struct weir_batch *batch, const void *scratch,
                            const float *output_gradient, const struct gradient_part gradients[])
{
    (void)parameters;
    size_t features = features_of(plan), width = plan->width;
    const float *rows = scratch;
    for (size_t f = 0; f < plan->shape[0].rows; f++) {
        float *row = trainer_gradient_part_row(&gradients[0], f);
        for (size_t s = 0; s < batch->samples && row != NULL; s++) {
            float value = f < features ? rows[s * features + f] : 1.0f;
            for (size_t k = 0; k < width; k++)
                row[k] += value * output_gradient[s * width + k];
        }
    }
}

static void embed_linear(const struct model_plan *plan, const struct weir_batch *batch,
                         const void *scratch, float *embeddings)
{
    memcpy(embeddings, scratch, linear_scratch_bytes(plan, batch));
}

const struct model trainer_model_linear = {
    .name = "linear",
    .summary = "linear or logistic regression over dense f32 features",
    .options = OPTIONS,
    .options_size = sizeof(struct linear),
    .blocks = BLOCKS,
    .plan = plan_linear,
    .reads = reads_linear,
    .init = init_linear,
    .scratch_bytes = linear_scratch_bytes,
    .forward = forward_linear,
    .backward = backward_linear,
    .embed = embed_linear,
};
