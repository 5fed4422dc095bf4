/* A linear model over a bag of hashed tokens: each text is the L2-normalised vector of its token
 * counts, and only the rows of tokens that occur in a batch are ever touched. Works on the first
 * ragged i32 tensor. Scratch of a batch: one counter per bucket, which is zero between samples and so
 * need not be cleared, where each sample's entries begin, and the entries (row and value, in the order
 * in which tokens first occur). It learns no embedding: embed() gives its input, folded. */
#include "core/base/elementary.h"
#include "core/base/rng.h"
#include "trainer_client/models/model.h"
#include "trainer_client/models/tensors.h"

#include <math.h>
#include <string.h>

static const char NAME[] = "text_bag";

enum counting { COUNT_LOG, COUNT_LINEAR, COUNT_BINARY };

struct text_bag {
    uint64_t buckets;
    int counts; /* enum counting */
    uint64_t embedding;
};

static const char *const COUNTS[] = {"log", "linear", "binary", NULL};
static const struct cfg_key OPTIONS[] = {
    CFG_U64(struct text_bag, buckets, .fallback = "262144", .min = 1, .max = 1 << 28,
            .doc = "tokens are below this number; as many as tokenize_hash makes"),
    CFG_CHOICE(struct text_bag, counts, .fallback = "log", .choices = COUNTS,
               .doc = "weight of n occurrences of a token: 1 + log n, n, or 1"),
    CFG_U64(struct text_bag, embedding, .fallback = "64", .min = 1, .max = 4096,
            .doc = "floats per sample in mode embed: the bag, folded by signed hashing"),
    CFG_END,
};

static const struct model_block BLOCKS[] = {{"parameters", .by_output = true}, {0}};

struct entry {
    uint32_t row;
    float value;
};

struct scratch {
    uint32_t *counts; /* per bucket */
    uint32_t *begins; /* samples + 1: of each sample's entries */
    struct entry *entries;
};

static enum weir_status plan_text_bag(struct model_plan *plan, const struct weir_batch *batch,
                                      struct weir_error *err)
{
    const struct text_bag *options = plan->options;
    enum weir_status status = trainer_tensors_plan_tokens(NAME, batch, err);
    if (status != WEIR_OK)
        return status;
    plan->shape[0] = (struct model_shape){
        .rows = options->buckets + 1, /* the last row is the constant */
        .columns = 1,
    };
    plan->embedding = (uint32_t)options->embedding;
    plan->tokens_below = options->buckets;
    return WEIR_OK;
}

static void init_text_bag(const struct model_plan *plan, struct weir_rng *rng, float *parameters)
{
    (void)rng; /* the loss is convex: zero is as good a beginning as any */
    memset(parameters, 0, plan->shape[0].rows * plan->width * sizeof(*parameters));
}

static size_t token_count(const struct weir_batch *batch)
{
    const struct weir_tensor *tokens = trainer_tensors_bag(batch);
    return tokens != NULL ? tokens->offsets[batch->samples] : 0;
}

static struct scratch divide(const struct model_plan *plan, const struct weir_batch *batch,
                             const void *block)
{
    uint32_t *counts = (uint32_t *)(uintptr_t)block; /* the block is written by forward() alone */
    uint32_t *begins = counts + ((const struct text_bag *)plan->options)->buckets;
    return (struct scratch){
        .counts = counts,
        .begins = begins,
        .entries = (struct entry *)(begins + batch->samples + 1),
    };
}

static size_t text_bag_scratch_bytes(const struct model_plan *plan, const struct weir_batch *batch)
{
    const struct text_bag *options = plan->options;
    return token_count(batch) * sizeof(struct entry) +
           ((size_t)options->buckets + batch->samples + 1) * sizeof(uint32_t);
}

static float weigh(int counting, uint32_t count)
{
    if (counting == COUNT_BINARY || count == 1)
        return 1.0f;
    return counting == COUNT_LINEAR ? (float)count : 1.0f + (float)weir_ln(count);
}

/* Turns one sample's tokens into `entries`; returns how many. Tokens are below `buckets`. */
static size_t fill_bag(const struct text_bag *options, const int32_t *tokens, size_t count,
                       uint32_t *counts, struct entry *entries)
{
    size_t distinct = 0;
    double square = 0.0;
    for (size_t i = 0; i < count; i++) {
        if (counts[tokens[i]]++ == 0)
            entries[distinct++].row = (uint32_t)tokens[i];
    }
    for (size_t i = 0; i < distinct; i++) {
        entries[i].value = weigh(options->counts, counts[entries[i].row]);
        square += (double)entries[i].value * entries[i].value;
        counts[entries[i].row] = 0;
    }
    float norm = distinct > 0 ? (float)(1.0 / sqrt(square)) : 0.0f;
    for (size_t i = 0; i < distinct; i++)
        entries[i].value *= norm;
    return distinct;
}

static enum weir_status fill_bags(const struct model_plan *plan, const struct weir_batch *batch,
                                  struct scratch *scratch, struct weir_error *err)
{
    const struct text_bag *options = plan->options;
    const struct weir_tensor *tensor;
    enum weir_status status = trainer_tensors_tokens(NAME, batch, &tensor, err);
    if (status != WEIR_OK)
        return status;
    const int32_t *tokens = tensor->data;
    uint32_t at = 0;
    for (size_t s = 0; s < batch->samples; s++) {
        uint32_t first = tensor->offsets[s], end = tensor->offsets[s + 1];
        status = trainer_tensors_check_tokens(NAME, batch, tensor, s, options->buckets, err);
        if (status != WEIR_OK)
            return status;
        scratch->begins[s] = at;
        at += (uint32_t)fill_bag(options, tokens + first, end - first, scratch->counts,
                                 scratch->entries + at);
    }
    scratch->begins[batch->samples] = at;
    return WEIR_OK;
}

static enum weir_status forward_text_bag(const struct model_plan *plan, const float *parameters,
                                         const struct weir_batch *batch, void *block,
                                         float *outputs, struct weir_error *err)
{
    struct scratch scratch = divide(plan, batch, block);
    enum weir_status status = fill_bags(plan, batch, &scratch, err);
    if (status != WEIR_OK)
        return status;
    size_t width = plan->width;
    const float *bias = parameters + (plan->shape[0].rows - 1) * width;
    for (size_t s = 0; s < batch->samples; s++) {
        float *output = outputs + s * width;
        memcpy(output, bias, width * sizeof(*output));
        for (uint32_t i = scratch.begins[s]; i < scratch.begins[s + 1]; i++) {
            const float *row = parameters + (size_t)scratch.entries[i].row * width;
            for (size_t k = 0; k < width; k++)
                output[k] += scratch.entries[i].value * row[k];
        }
    }
    return WEIR_OK;
}

static void backward_text_bag(const struct model_plan *plan, const float *parameters,
                              const struct weir_batch *batch, const void *block,
                              const float *output_gradient, const struct gradient_part gradients[])
{
    (void)parameters;
    struct scratch scratch = divide(plan, batch, block);
    size_t width = plan->width;
    for (size_t s = 0; s < batch->samples; s++) {
        const float *slope = output_gradient + s * width;
        if (gradient_is_zero(slope, width))
            continue;
        for (uint32_t i = scratch.begins[s]; i < scratch.begins[s + 1]; i++) {
            float *row = trainer_gradient_part_row(&gradients[0], scratch.entries[i].row);
            for (size_t k = 0; k < width && row != NULL; k++)
                row[k] += scratch.entries[i].value * slope[k];
        }
        float *bias = trainer_gradient_part_row(&gradients[0], plan->shape[0].rows - 1);
        for (size_t k = 0; k < width && bias != NULL; k++)
            bias[k] += slope[k];
    }
}

static void embed_text_bag(const struct model_plan *plan, const struct weir_batch *batch,
                           const void *block, float *embeddings)
{
    struct scratch scratch = divide(plan, batch, block);
    memset(embeddings, 0, batch->samples * plan->embedding * sizeof(*embeddings));
    for (size_t s = 0; s < batch->samples; s++) {
        for (uint32_t i = scratch.begins[s]; i < scratch.begins[s + 1]; i++) {
            uint64_t hash = weir_mix64(scratch.entries[i].row);
            float sign = (hash >> 63) != 0 ? -1.0f : 1.0f;
            embeddings[s * plan->embedding + hash % plan->embedding] +=
                sign * scratch.entries[i].value;
        }
    }
}

const struct model trainer_model_text_bag = {
    .name = NAME,
    .summary = "linear model over the L2-normalised bag of hashed tokens, with sparse updates",
    .options = OPTIONS,
    .options_size = sizeof(struct text_bag),
    .blocks = BLOCKS,
    .plan = plan_text_bag,
    .reads = trainer_tensors_is_first_bag,
    .init = init_text_bag,
    .scratch_bytes = text_bag_scratch_bytes,
    .forward = forward_text_bag,
    .backward = backward_text_bag,
    .embed = embed_text_bag,
};
