/* Averaged embeddings of n-grams and a linear layer over them (Joulin, Grave, Bojanowski, Mikolov
 * 2017, section 2, fastText's classifier): h = mean of the rows of a text's tokens, outputs = h W.
 * With the loss softmax this is their model; W has no constant, as theirs. Works on the first
 * ragged i32 tensor. The embedding of a sample is h; of a text without tokens it is zero.
 *
 * Blocks: `embeddings` (buckets, dimension), `output` (dimension, outputs). Scratch: h and its
 * gradient, each (samples, dimension). */
#include "core/base/rng.h"
#include "trainer_client/models/model.h"
#include "trainer_client/models/tensors.h"

#include <string.h>

static const char NAME[] = "text_embedding";

struct text_embedding {
    uint64_t buckets;
    uint64_t dimension;
};

static const struct cfg_key OPTIONS[] = {
    CFG_U64(struct text_embedding, buckets, .fallback = "262144", .min = 1, .max = 1 << 28,
            .doc = "tokens are below this number; as many as tokenize_hash makes"),
    CFG_U64(struct text_embedding, dimension, .fallback = "64", .min = 1, .max = 4096,
            .doc = "floats of a token's embedding; in mode embed, floats per sample"),
    CFG_END,
};

enum { EMBEDDINGS, OUTPUT };
static const struct model_block BLOCKS[] = {
    [EMBEDDINGS] = {"embeddings", .by_output = false},
    [OUTPUT] = {"output", .by_output = true},
    {0},
};

static size_t dimension_of(const struct model_plan *plan)
{
    return ((const struct text_embedding *)plan->options)->dimension;
}

static enum weir_status plan_text_embedding(struct model_plan *plan, const struct weir_batch *batch,
                                            struct weir_error *err)
{
    const struct text_embedding *options = plan->options;
    enum weir_status status = trainer_tensors_plan_tokens(NAME, batch, err);
    if (status != WEIR_OK)
        return status;
    uint32_t dimension = (uint32_t)options->dimension;
    plan->shape[EMBEDDINGS] = (struct model_shape){options->buckets, dimension};
    plan->shape[OUTPUT] = (struct model_shape){dimension, 1};
    plan->embedding = dimension;
    plan->tokens_below = options->buckets;
    return WEIR_OK;
}

/* Embeddings uniform in [-1/dimension, 1/dimension), outputs zero: as fastText begins. */
static void init_text_embedding(const struct model_plan *plan, struct weir_rng *rng,
                                float *parameters)
{
    size_t output = trainer_model_block_at(plan, OUTPUT), all = trainer_model_floats(plan);
    float scale = 1.0f / (float)dimension_of(plan);
    for (size_t i = 0; i < output; i++)
        parameters[i] = (2.0f * (float)weir_rng_unit(rng) - 1.0f) * scale;
    memset(parameters + output, 0, (all - output) * sizeof(*parameters));
}

static size_t text_embedding_scratch_bytes(const struct model_plan *plan,
                                           const struct weir_batch *batch)
{
    return 2 * batch->samples * dimension_of(plan) * sizeof(float);
}

/* y += scale * x */
static void add(float *restrict y, const float *restrict x, float scale, size_t count)
{
    for (size_t i = 0; i < count; i++)
        y[i] += scale * x[i];
}

enum { LANES = 8 };

/* The sum of products, as LANES sums side by side: an order that does not depend on the compiler. */
static float dot(const float *restrict x, const float *restrict y, size_t count)
{
    float sums[LANES] = {0}, sum = 0.0f;
    size_t i = 0;
    for (; i + LANES <= count; i += LANES)
        for (size_t lane = 0; lane < LANES; lane++)
            sums[lane] += x[i + lane] * y[i + lane];
    for (; i < count; i++)
        sums[i % LANES] += x[i] * y[i];
    for (size_t lane = 0; lane < LANES; lane++)
        sum += sums[lane];
    return sum;
}

static void average(const float *embeddings, const struct weir_tensor *tensor, size_t s,
                    size_t dimension, float *hidden)
{
    uint32_t from = tensor->offsets[s], to = tensor->offsets[s + 1];
    const int32_t *tokens = tensor->data;
    memset(hidden, 0, dimension * sizeof(*hidden));
    for (uint32_t i = from; i < to; i++)
        add(hidden, embeddings + (size_t)tokens[i] * dimension, 1.0f / (float)(to - from),
            dimension);
}

static enum weir_status forward_text_embedding(const struct model_plan *plan,
                                               const float *parameters,
                                               const struct weir_batch *batch, void *scratch,
                                               float *outputs, struct weir_error *err)
{
    const struct weir_tensor *tensor;
    enum weir_status status = trainer_tensors_tokens(NAME, batch, &tensor, err);
    if (status != WEIR_OK)
        return status;
    size_t dimension = dimension_of(plan), width = plan->width;
    const float *output = parameters + trainer_model_block_at(plan, OUTPUT);
    float *hidden = scratch;
    memset(outputs, 0, batch->samples * width * sizeof(*outputs));
    for (size_t s = 0; s < batch->samples; s++, hidden += dimension) {
        status =
            trainer_tensors_check_tokens(NAME, batch, tensor, s, plan->shape[EMBEDDINGS].rows, err);
        if (status != WEIR_OK)
            return status;
        average(parameters, tensor, s, dimension, hidden);
        for (size_t d = 0; d < dimension; d++)
            add(outputs + s * width, output + d * width, hidden[d], width);
    }
    return WEIR_OK;
}

/* d loss / d hidden of each sample. */
static void prepare_text_embedding(const struct model_plan *plan, const float *parameters,
                                   const struct weir_batch *batch, void *scratch,
                                   const float *output_gradient)
{
    size_t dimension = dimension_of(plan), width = plan->width;
    const float *output = parameters + trainer_model_block_at(plan, OUTPUT);
    float *slopes = (float *)scratch + batch->samples * dimension;
    for (size_t s = 0; s < batch->samples; s++)
        for (size_t d = 0; d < dimension; d++)
            slopes[s * dimension + d] = dot(output + d * width, output_gradient + s * width, width);
}

/* Gives each token of a sample its share of d loss / d h. */
static void spread(const struct weir_tensor *tensor, size_t s, size_t dimension, const float *slope,
                   const struct gradient_part *gradient)
{
    uint32_t from = tensor->offsets[s], to = tensor->offsets[s + 1];
    for (uint32_t i = from; i < to; i++) {
        uint64_t token = (uint64_t)((const int32_t *)tensor->data)[i];
        float *row = trainer_gradient_part_row(gradient, token);
        if (row != NULL)
            add(row, slope, 1.0f / (float)(to - from), dimension);
    }
}

static void backward_text_embedding(const struct model_plan *plan, const float *parameters,
                                    const struct weir_batch *batch, const void *scratch,
                                    const float *output_gradient,
                                    const struct gradient_part gradients[])
{
    (void)parameters;
    const struct weir_tensor *tensor = trainer_tensors_bag(batch);
    size_t dimension = dimension_of(plan), width = plan->width;
    const float *hidden = scratch, *slopes = hidden + batch->samples * dimension;
    for (size_t d = 0; d < dimension; d++) {
        float *row = trainer_gradient_part_row(&gradients[OUTPUT], d);
        for (size_t s = 0; s < batch->samples && row != NULL; s++)
            add(row, output_gradient + s * width, hidden[s * dimension + d], width);
    }
    for (size_t s = 0; s < batch->samples; s++)
        if (!gradient_is_zero(output_gradient + s * width, width))
            spread(tensor, s, dimension, slopes + s * dimension, &gradients[EMBEDDINGS]);
}

static void embed_text_embedding(const struct model_plan *plan, const struct weir_batch *batch,
                                 const void *scratch, float *embeddings)
{
    memcpy(embeddings, scratch, batch->samples * dimension_of(plan) * sizeof(*embeddings));
}

const struct model trainer_model_text_embedding = {
    .name = NAME,
    .summary = "averaged embeddings of hashed n-grams and a linear layer over them (fastText)",
    .options = OPTIONS,
    .options_size = sizeof(struct text_embedding),
    .blocks = BLOCKS,
    .plan = plan_text_embedding,
    .reads = trainer_tensors_is_first_bag,
    .init = init_text_embedding,
    .scratch_bytes = text_embedding_scratch_bytes,
    .forward = forward_text_embedding,
    .prepare = prepare_text_embedding,
    .backward = backward_text_embedding,
    .embed = embed_text_embedding,
};
