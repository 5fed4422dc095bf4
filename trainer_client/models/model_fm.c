/* A factorization machine of degree 2 (Rendle 2010, equation 1), one per output, computed in
 * O(k n) (lemma 3.1): output = b + sum w_i x_i + 1/2 sum_f ((sum v_if x_i)^2 - sum (v_if x_i)^2).
 * Features are all dense f32 numbers, and all i32 ones as categories: each column of a dense tensor
 * and each ragged tensor is a field, whose categories share one table of rows by hashing. A
 * category of a dense tensor has the value 1, one of n of a ragged tensor 1 / n (figure 1).
 * The embedding of a sample is what its factors add up to, sum v_i x_i: (outputs, k).
 *
 * Rows of the blocks: dense numbers, hashed categories; of `linear` also the constant. Scratch:
 * where each sample's features begin, the sums of factors, the features. */
#include "core/base/elementary.h"
#include "core/base/rng.h"
#include "trainer_client/models/model.h"
#include "trainer_client/models/tensors.h"

#include <math.h>
#include <string.h>

struct fm {
    uint64_t buckets;
    uint64_t factors;
    double spread;
    bool normalise;
};

static const struct cfg_key OPTIONS[] = {
    CFG_U64(struct fm, buckets, .fallback = "262144", .min = 1, .max = 1 << 28,
            .doc = "rows that the categories of all i32 fields share by hashing"),
    CFG_U64(struct fm, factors, .fallback = "8", .min = 1, .max = 1024,
            .doc = "floats that each feature meets the others with; in mode embed, floats per "
                   "sample and output"),
    CFG_F64(struct fm, spread, .fallback = "0.01", .max = 10.0,
            .doc = "standard deviation of the factors to begin with"),
    CFG_BOOL(struct fm, normalise, .fallback = "false",
             .doc = "scale the features of each sample to length 1"),
    CFG_END,
};

enum { LINEAR, FACTORS };
static const struct model_block BLOCKS[] = {
    [LINEAR] = {"linear", .by_output = true},
    [FACTORS] = {"factors", .by_output = true},
    {0},
};

struct feature {
    uint32_t row;
    float value;
};

struct scratch {
    uint32_t *begins; /* samples + 1: of each sample's features */
    float *sums;      /* (samples, outputs, k) */
    struct feature *features;
};

static bool is_dense_category(const struct weir_tensor *tensor)
{
    return tensor->offsets == NULL && tensor->type == WEIR_TENSOR_I32;
}

/* Categories of the whole batch. */
static size_t count_categories(const struct weir_batch *batch)
{
    size_t categories = 0;
    for (size_t i = 0; i < batch->tensor_count; i++) {
        const struct weir_tensor *tensor = &batch->tensors[i];
        if (is_dense_category(tensor))
            categories += batch->samples * trainer_tensors_columns(tensor);
        else if (trainer_tensors_is_bag(tensor))
            categories += tensor->offsets[batch->samples];
    }
    return categories;
}

static bool is_field(const struct weir_tensor *tensor)
{
    return is_dense_category(tensor) || trainer_tensors_is_bag(tensor);
}

static bool has_field(const struct weir_batch *batch)
{
    for (size_t i = 0; i < batch->tensor_count; i++)
        if (is_field(&batch->tensors[i]))
            return true;
    return false;
}

static bool reads_fm(const struct weir_batch *batch, const struct weir_tensor *tensor)
{
    (void)batch;
    return is_field(tensor) || trainer_tensors_is_dense(tensor);
}

static enum weir_status plan_fm(struct model_plan *plan, const struct weir_batch *batch,
                                struct weir_error *err)
{
    const struct fm *options = plan->options;
    size_t numbers = trainer_tensors_features(batch);
    if (numbers == 0 && !has_field(batch)) {
        char found[200];
        trainer_tensors_describe(batch, found, sizeof(found));
        return weir_fail(err, WEIR_INVALID,
                         "model fm: expected f32 numbers (dense) or i32 categories (dense or "
                         "ragged), found %s: add an operator that makes them (record_fields, "
                         "csv_fields, hash_mod, cast)",
                         found);
    }
    uint64_t rows = numbers + options->buckets;
    plan->shape[LINEAR] = (struct model_shape){.rows = rows + 1, .columns = 1};
    plan->shape[FACTORS] =
        (struct model_shape){.rows = rows, .columns = (uint32_t)options->factors};
    uint64_t embedding = options->factors * plan->width;
    if (rows > UINT32_MAX || embedding > UINT32_MAX)
        return weir_fail(err, WEIR_LIMIT, "model fm: %llu features, %u outputs are too many",
                         (unsigned long long)rows, plan->width);
    plan->embedding = (uint32_t)embedding;
    return WEIR_OK;
}

/* A normal variable of mean 0 and deviation 1 (Box, Muller 1958). */
static float draw_normal(struct weir_rng *rng)
{
    double u = 1.0 - weir_rng_unit(rng), v = weir_rng_unit(rng);
    return (float)(sqrt(-2.0 * weir_ln(u)) * weir_cospi(2.0 * v));
}

static void init_fm(const struct model_plan *plan, struct weir_rng *rng, float *parameters)
{
    const struct fm *options = plan->options;
    size_t linear = trainer_model_block_at(plan, FACTORS), all = trainer_model_floats(plan);
    memset(parameters, 0, linear * sizeof(*parameters));
    for (size_t i = linear; i < all; i++)
        parameters[i] = (float)options->spread * draw_normal(rng);
}

/* ---- features ---- */

static size_t sums_of(const struct model_plan *plan, const struct weir_batch *batch)
{
    return batch->samples * plan->width * ((const struct fm *)plan->options)->factors;
}

static size_t fm_scratch_bytes(const struct model_plan *plan, const struct weir_batch *batch)
{
    size_t features = batch->samples * trainer_tensors_features(batch) + count_categories(batch);
    return (batch->samples + 1) * sizeof(uint32_t) + sums_of(plan, batch) * sizeof(float) +
           features * sizeof(struct feature);
}

static struct scratch divide(const struct model_plan *plan, const struct weir_batch *batch,
                             const void *block)
{
    uint32_t *begins = (uint32_t *)(uintptr_t)block; /* the block is written by forward() alone */
    float *sums = (float *)(begins + batch->samples + 1);
    return (struct scratch){
        .begins = begins,
        .sums = sums,
        .features = (struct feature *)(sums + sums_of(plan, batch)),
    };
}

/* One sample's features while they are gathered. */
struct gathering {
    const struct fm *options;
    const struct weir_batch *batch;
    size_t sample;
    uint64_t numbers; /* rows before those of the categories */
    uint32_t number, field;
    struct feature *next;
};

static enum weir_status gather_numbers(struct gathering *at, const struct weir_tensor *tensor,
                                       struct weir_error *err)
{
    size_t columns = trainer_tensors_columns(tensor);
    const float *values = (const float *)tensor->data + at->sample * columns;
    for (size_t i = 0; i < columns; i++, at->number++) {
        if (!isfinite(values[i]))
            return weir_fail(err, WEIR_INVALID,
                             "model fm: sample %llu: tensor '%s', column %zu: %g, expected a "
                             "finite number: add the operator fill_missing",
                             (unsigned long long)at->batch->ids[at->sample], tensor->name, i,
                             (double)values[i]);
        if (values[i] != 0.0f)
            *at->next++ = (struct feature){at->number, values[i]};
    }
    return WEIR_OK;
}

static void gather_category(struct gathering *at, uint32_t field, int32_t category, float value)
{
    uint64_t hash = weir_mix64((uint64_t)field << 32 | (uint32_t)category);
    at->next->row = (uint32_t)(at->numbers + hash % at->options->buckets);
    at->next++->value = value;
}

static void gather_columns(struct gathering *at, const struct weir_tensor *tensor)
{
    size_t columns = trainer_tensors_columns(tensor);
    const int32_t *values = (const int32_t *)tensor->data + at->sample * columns;
    for (size_t i = 0; i < columns; i++)
        gather_category(at, at->field++, values[i], 1.0f);
}

static void gather_bag(struct gathering *at, const struct weir_tensor *tensor)
{
    uint32_t from = tensor->offsets[at->sample], to = tensor->offsets[at->sample + 1];
    for (uint32_t i = from; i < to; i++)
        gather_category(at, at->field, ((const int32_t *)tensor->data)[i],
                        1.0f / (float)(to - from));
    at->field++;
}

static void normalise(struct feature *from, const struct feature *to)
{
    double square = 0.0;
    for (const struct feature *feature = from; feature < to; feature++)
        square += (double)feature->value * (double)feature->value;
    float scale = square > 0.0 ? (float)(1.0 / sqrt(square)) : 0.0f;
    for (struct feature *feature = from; feature < to; feature++)
        feature->value *= scale;
}

static enum weir_status gather_sample(struct gathering *at, struct weir_error *err)
{
    struct feature *first = at->next;
    at->number = at->field = 0;
    enum weir_status status = WEIR_OK;
    for (size_t i = 0; status == WEIR_OK && i < at->batch->tensor_count; i++) {
        const struct weir_tensor *tensor = &at->batch->tensors[i];
        if (trainer_tensors_is_dense(tensor))
            status = gather_numbers(at, tensor, err);
        else if (is_dense_category(tensor))
            gather_columns(at, tensor);
        else if (trainer_tensors_is_bag(tensor))
            gather_bag(at, tensor);
    }
    if (status == WEIR_OK && at->options->normalise)
        normalise(first, at->next);
    return status;
}

static enum weir_status gather(const struct model_plan *plan, const struct weir_batch *batch,
                               struct scratch *scratch, struct weir_error *err)
{
    const struct fm *options = plan->options;
    struct gathering at = {
        .options = options,
        .batch = batch,
        .numbers = plan->shape[FACTORS].rows - options->buckets,
        .next = scratch->features,
    };
    if (trainer_tensors_features(batch) != at.numbers)
        return weir_fail(err, WEIR_INVALID, "model fm: %zu dense numbers, the model has %llu",
                         trainer_tensors_features(batch), (unsigned long long)at.numbers);
    enum weir_status status = WEIR_OK;
    for (; status == WEIR_OK && at.sample < batch->samples; at.sample++) {
        scratch->begins[at.sample] = (uint32_t)(at.next - scratch->features);
        status = gather_sample(&at, err);
    }
    scratch->begins[batch->samples] = (uint32_t)(at.next - scratch->features);
    return status;
}

/* ---- outputs and gradients ---- */

/* The pairs of one output: 1/2 sum_f (sums_f^2 - sum_i (v_if x_i)^2). `first` is v_0 of the output,
 * `width` floats lie from one row to the next. */
static double add_pairs(const struct feature *from, const struct feature *to, const float *first,
                        size_t width, size_t factors, float *sums)
{
    double squares = 0.0, pairs = 0.0;
    memset(sums, 0, factors * sizeof(*sums));
    for (const struct feature *feature = from; feature < to; feature++) {
        const float *row = first + feature->row * width;
        float square = 0.0f;
        for (size_t f = 0; f < factors; f++) {
            float part = feature->value * row[f];
            sums[f] += part;
            square += part * part;
        }
        squares += (double)square;
    }
    for (size_t f = 0; f < factors; f++)
        pairs += (double)sums[f] * (double)sums[f];
    return (pairs - squares) / 2.0;
}

static enum weir_status forward_fm(const struct model_plan *plan, const float *parameters,
                                   const struct weir_batch *batch, void *block, float *outputs,
                                   struct weir_error *err)
{
    struct scratch scratch = divide(plan, batch, block);
    enum weir_status status = gather(plan, batch, &scratch, err);
    if (status != WEIR_OK)
        return status;
    size_t width = plan->width, factors = ((const struct fm *)plan->options)->factors;
    const float *vectors = parameters + trainer_model_block_at(plan, FACTORS);
    const float *bias = parameters + (plan->shape[LINEAR].rows - 1) * width;
    for (size_t i = 0; i < batch->samples * width; i++) {
        size_t s = i / width, k = i % width;
        const struct feature *from = scratch.features + scratch.begins[s];
        const struct feature *to = scratch.features + scratch.begins[s + 1];
        double output = (double)bias[k];
        for (const struct feature *feature = from; feature < to; feature++)
            output += (double)feature->value * (double)parameters[feature->row * width + k];
        outputs[i] = (float)(output + add_pairs(from, to, vectors + k * factors, width * factors,
                                                factors, scratch.sums + i * factors));
    }
    return WEIR_OK;
}

/* d output / d v_if = x_i (sums_f - v_if x_i); d output / d w_i = x_i. */
static void learn_feature(const struct model_plan *plan, const float *vectors,
                          const struct feature *feature, const float *slopes, const float *sums,
                          const struct gradient_part gradients[])
{
    size_t factors = ((const struct fm *)plan->options)->factors;
    const float *row = vectors + (size_t)feature->row * plan->width * factors;
    float *linear = trainer_gradient_part_row(&gradients[LINEAR], feature->row);
    float *to = trainer_gradient_part_row(&gradients[FACTORS], feature->row);
    for (size_t k = 0; k < plan->width && linear != NULL; k++)
        linear[k] += slopes[k] * feature->value;
    for (size_t k = 0; k < plan->width && to != NULL; k++) {
        float slope = slopes[k] * feature->value;
        for (size_t i = k * factors; i < (k + 1) * factors; i++)
            to[i] += slope * (sums[i] - row[i] * feature->value);
    }
}

static void backward_fm(const struct model_plan *plan, const float *parameters,
                        const struct weir_batch *batch, const void *block,
                        const float *output_gradient, const struct gradient_part gradients[])
{
    struct scratch scratch = divide(plan, batch, block);
    size_t width = plan->width, factors = ((const struct fm *)plan->options)->factors;
    const float *vectors = parameters + trainer_model_block_at(plan, FACTORS);
    for (size_t s = 0; s < batch->samples; s++) {
        const float *slopes = output_gradient + s * width;
        const float *sums = scratch.sums + s * width * factors;
        if (gradient_is_zero(slopes, width))
            continue;
        for (uint32_t i = scratch.begins[s]; i < scratch.begins[s + 1]; i++)
            learn_feature(plan, vectors, &scratch.features[i], slopes, sums, gradients);
        float *bias = trainer_gradient_part_row(&gradients[LINEAR], plan->shape[LINEAR].rows - 1);
        for (size_t k = 0; k < width && bias != NULL; k++)
            bias[k] += slopes[k];
    }
}

static void embed_fm(const struct model_plan *plan, const struct weir_batch *batch,
                     const void *block, float *embeddings)
{
    struct scratch scratch = divide(plan, batch, block);
    memcpy(embeddings, scratch.sums, sums_of(plan, batch) * sizeof(*embeddings));
}

const struct model trainer_model_fm = {
    .name = "fm",
    .summary = "factorization machine: features, and how each pair of them goes together",
    .options = OPTIONS,
    .options_size = sizeof(struct fm),
    .blocks = BLOCKS,
    .plan = plan_fm,
    .reads = reads_fm,
    .init = init_fm,
    .scratch_bytes = fm_scratch_bytes,
    .forward = forward_fm,
    .backward = backward_fm,
    .embed = embed_fm,
};
