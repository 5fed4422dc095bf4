/* Dense tensors side by side, ragged ones as histograms. */
#include "trainer_client/features.h"

#include "core/base/bytes.h"
#include "core/base/rng.h"

#include <math.h>
#include <string.h>

typedef double read_fn(const void *data, size_t index);

#define READER(name, type)                             \
    static double name(const void *data, size_t index) \
    {                                                  \
        return (double)((const type *)data)[index];    \
    }
READER(read_u8, uint8_t)
READER(read_i32, int32_t)
READER(read_i64, int64_t)
READER(read_f32, float)
READER(read_f64, double)
READER(read_u32, uint32_t)
#undef READER

static read_fn *const READERS[] = {
    [WEIR_TENSOR_U8] = read_u8,   [WEIR_TENSOR_I32] = read_i32, [WEIR_TENSOR_I64] = read_i64,
    [WEIR_TENSOR_F32] = read_f32, [WEIR_TENSOR_F64] = read_f64, [WEIR_TENSOR_U32] = read_u32,
};

/* Numbers of one sample, of one element where the tensor is ragged. */
static uint64_t inner_of(const struct weir_tensor *tensor)
{
    uint64_t inner = 1;
    for (uint32_t i = 1; i < tensor->rank; i++)
        if (__builtin_mul_overflow(inner, tensor->shape[i], &inner))
            return UINT64_MAX;
    return inner;
}

static uint64_t width_of(const struct weir_tensor *tensor)
{
    return tensor->offsets != NULL ? FEATURES_BUCKETS : inner_of(tensor);
}

enum weir_status trainer_features_width(const struct weir_batch *batch, uint32_t *ret_width,
                                        struct weir_error *err)
{
    uint64_t width = 0;
    for (size_t i = 0; i < batch->tensor_count; i++) {
        const struct weir_tensor *tensor = &batch->tensors[i];
        uint64_t own = width_of(tensor);
        if (own > FEATURES_MAX - width)
            return weir_fail(err, WEIR_INVALID,
                             "tensor '%s': %llu numbers per sample beside %llu others, expected at "
                             "most %d to measure drift on: use on: embeddings",
                             tensor->name, (unsigned long long)own, (unsigned long long)width,
                             FEATURES_MAX);
        width += own;
    }
    *ret_width = (uint32_t)width;
    return WEIR_OK;
}

/* "[3]", or "[0,5,2]" where a sample has several dimensions. */
static void print_place(const struct weir_tensor *tensor, uint64_t index, struct weir_buf *out)
{
    uint64_t stride = inner_of(tensor);
    for (uint32_t i = 1; i < tensor->rank; i++) {
        stride /= tensor->shape[i];
        weir_buf_printf(out, "%s%llu", i == 1 ? "[" : ",", (unsigned long long)(index / stride));
        index %= stride;
    }
    weir_buf_append_text(out, tensor->rank > 1 ? "]" : "");
}

static void print_name(const struct weir_tensor *tensor, uint64_t index,
                       const struct weir_client *client, struct weir_buf *out)
{
    const char *element = weir_client_element_name(client, tensor->name, index);
    weir_buf_printf(out, "%s", tensor->name);
    if (tensor->offsets != NULL)
        weir_buf_printf(out, " in bucket %llu", (unsigned long long)index);
    else if (inner_of(tensor) > 1)
        print_place(tensor, index, out);
    if (element != NULL)
        weir_buf_printf(out, " \"%s\"", element);
}

const char *const *trainer_features_names(const struct weir_batch *batch,
                                          const struct weir_client *client,
                                          struct weir_arena *arena)
{
    const char **names = weir_arena_alloc(arena, FEATURES_MAX * sizeof(*names));
    size_t at = 0;
    for (size_t i = 0; i < batch->tensor_count; i++) {
        for (uint64_t k = 0; k < width_of(&batch->tensors[i]); k++) {
            WEIR_AUTO_BUF name = {0};
            print_name(&batch->tensors[i], k, client, &name);
            names[at++] = weir_arena_strndup(arena, weir_buf_text(&name), name.size);
        }
    }
    return names;
}

static void take_dense(const struct weir_tensor *tensor, size_t sample, float *out)
{
    size_t inner = inner_of(tensor);
    for (size_t k = 0; k < inner; k++)
        out[k] = (float)READERS[tensor->type](tensor->data, sample * inner + k);
}

static void take_ragged(const struct weir_tensor *tensor, size_t sample, float *out)
{
    size_t inner = inner_of(tensor);
    size_t from = tensor->offsets[sample] * inner, to = tensor->offsets[sample + 1] * inner;
    memset(out, 0, FEATURES_BUCKETS * sizeof(*out));
    for (size_t k = from; k < to; k++) {
        double name = READERS[tensor->type](tensor->data, k);
        int64_t number = fabs(name) < 0x1p63 ? (int64_t)name : INT64_MIN; /* so has NaN a bucket */
        out[weir_mix64((uint64_t)number) % FEATURES_BUCKETS] += 1.0F / (float)(to - from);
    }
}

void trainer_features_take(const struct weir_batch *batch, uint32_t width, float *features)
{
    size_t at = 0;
    for (size_t i = 0; i < batch->tensor_count; i++) {
        const struct weir_tensor *tensor = &batch->tensors[i];
        for (size_t s = 0; s < batch->samples; s++) {
            if (tensor->offsets != NULL)
                take_ragged(tensor, s, features + s * width + at);
            else
                take_dense(tensor, s, features + s * width + at);
        }
        at += width_of(tensor);
    }
}
