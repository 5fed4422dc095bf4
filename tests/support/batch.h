/* Builds the batches that models and collectors are tested with: a struct weir_batch with one dense
 * and one ragged tensor over memory of its own. */
#ifndef WEIR_TESTS_SUPPORT_BATCH_H
#define WEIR_TESTS_SUPPORT_BATCH_H

#include "core/base/rng.h"

#include <string.h>
#include <weir/client.h>

enum { TEST_BATCH_SAMPLES = 16, TEST_BATCH_FEATURES = 4, TEST_BATCH_TOKENS = 12 };

struct test_batch {
    struct weir_batch batch;
    struct weir_tensor tensors[2];
    uint64_t ids[TEST_BATCH_SAMPLES];
    int64_t labels[TEST_BATCH_SAMPLES];
    float weights[TEST_BATCH_SAMPLES];
    float features[TEST_BATCH_SAMPLES * TEST_BATCH_FEATURES];
    uint32_t offsets[TEST_BATCH_SAMPLES + 1];
    int32_t tokens[TEST_BATCH_SAMPLES * TEST_BATCH_TOKENS];
};

static inline void test_batch_sample(struct test_batch *batch, struct weir_rng *rng, size_t s,
                                     uint32_t classes)
{
    uint64_t label = weir_rng_below(rng, classes);
    uint32_t at = batch->offsets[s];
    batch->ids[s] = weir_rng_next(rng) >> 8;
    batch->labels[s] = (int64_t)label;
    batch->weights[s] = 0.25f + (float)weir_rng_below(rng, 8) * 0.25f;
    for (size_t f = 0; f < TEST_BATCH_FEATURES; f++) {
        float signal = f == label ? 2.0f : 0.0f;
        batch->features[s * TEST_BATCH_FEATURES + f] = signal + (float)weir_rng_unit(rng) - 0.5f;
    }
    for (uint64_t t = weir_rng_below(rng, TEST_BATCH_TOKENS); t > 0; t--)
        batch->tokens[at++] = (int32_t)(t % 2 == 0 ? label : classes + weir_rng_below(rng, 20));
    batch->offsets[s + 1] = at;
}

/* A toy set that every model can learn: the label shows in one feature and in every second token
 * (below 32). */
static inline void test_batch_make(struct test_batch *batch, uint64_t seed, uint32_t classes)
{
    struct weir_rng rng;
    weir_rng_init(&rng, seed);
    memset(batch, 0, sizeof(*batch));
    for (size_t s = 0; s < TEST_BATCH_SAMPLES; s++)
        test_batch_sample(batch, &rng, s, classes);
    batch->tensors[0] = (struct weir_tensor){.name = "features",
                                             .type = WEIR_TENSOR_F32,
                                             .rank = 2,
                                             .shape = {TEST_BATCH_SAMPLES, TEST_BATCH_FEATURES},
                                             .data = batch->features,
                                             .bytes = sizeof(batch->features)};
    batch->tensors[1] =
        (struct weir_tensor){.name = "tokens",
                             .type = WEIR_TENSOR_I32,
                             .rank = 1,
                             .shape = {TEST_BATCH_SAMPLES},
                             .offsets = batch->offsets,
                             .data = batch->tokens,
                             .bytes = batch->offsets[TEST_BATCH_SAMPLES] * sizeof(int32_t)};
    batch->batch = (struct weir_batch){.samples = TEST_BATCH_SAMPLES,
                                       .ids = batch->ids,
                                       .labels = batch->labels,
                                       .label_type = WEIR_LABELS_CLASS,
                                       .weights = batch->weights,
                                       .tensor_count = 2,
                                       .tensors = batch->tensors};
}

#endif
