/* Tensors of a batch: see tensors.h. */
#include "trainer_client/models/tensors.h"

#include "core/wire/tensor.h"

#include <stdio.h>

void trainer_tensors_describe_one(const struct weir_tensor *tensor, char *text, size_t size)
{
    const struct weir_batch batch = {.tensors = tensor, .tensor_count = 1};

    trainer_tensors_describe(&batch, text, size);
}

void trainer_tensors_describe(const struct weir_batch *batch, char *text, size_t size)
{
    size_t used = 0;
    snprintf(text, size, "%s", "none");
    for (size_t i = 0; i < batch->tensor_count && used < size; i++) {
        const struct weir_tensor *tensor = &batch->tensors[i];
        int written = snprintf(text + used, size - used, "%s'%s' %s %s", i > 0 ? ", " : "",
                               tensor->name, tensor->offsets != NULL ? "ragged" : "dense",
                               weir_dtype_name((enum weir_dtype)tensor->type));
        used += written > 0 ? (size_t)written : size;
    }
}

size_t trainer_tensors_columns(const struct weir_tensor *tensor)
{
    size_t columns = 1;
    for (uint32_t i = 1; i < tensor->rank; i++)
        columns *= tensor->shape[i];
    return columns;
}

size_t trainer_tensors_row_bytes(const struct weir_tensor *tensor)
{
    return weir_dtype_bytes((enum weir_dtype)tensor->type) * trainer_tensors_columns(tensor);
}

bool trainer_tensors_is_dense(const struct weir_tensor *tensor)
{
    return tensor->offsets == NULL && tensor->type == WEIR_TENSOR_F32;
}

bool trainer_tensors_is_bag(const struct weir_tensor *tensor)
{
    return tensor->offsets != NULL && tensor->type == WEIR_TENSOR_I32 && tensor->rank == 1;
}

const struct weir_tensor *trainer_tensors_bag(const struct weir_batch *batch)
{
    for (size_t i = 0; i < batch->tensor_count; i++) {
        if (trainer_tensors_is_bag(&batch->tensors[i]))
            return &batch->tensors[i];
    }
    return NULL;
}

bool trainer_tensors_is_first_bag(const struct weir_batch *batch, const struct weir_tensor *tensor)
{
    return tensor == trainer_tensors_bag(batch);
}

size_t trainer_tensors_features(const struct weir_batch *batch)
{
    size_t features = 0;
    for (size_t i = 0; i < batch->tensor_count; i++) {
        if (trainer_tensors_is_dense(&batch->tensors[i]))
            features += trainer_tensors_columns(&batch->tensors[i]);
    }
    return features;
}

/* ---- tokens ---- */

enum weir_status trainer_tensors_plan_tokens(const char *model, const struct weir_batch *batch,
                                             struct weir_error *err)
{
    char found[200];
    if (trainer_tensors_bag(batch) != NULL)
        return WEIR_OK;
    trainer_tensors_describe(batch, found, sizeof(found));
    return weir_fail(err, WEIR_INVALID,
                     "model %s: expected a ragged i32 tensor of tokens, found %s: add the "
                     "operators tokenize_words and tokenize_hash",
                     model, found);
}

enum weir_status trainer_tensors_tokens(const char *model, const struct weir_batch *batch,
                                        const struct weir_tensor **ret_tensor,
                                        struct weir_error *err)
{
    *ret_tensor = trainer_tensors_bag(batch);
    return *ret_tensor != NULL ? WEIR_OK
                               : weir_fail(err, WEIR_INVALID,
                                           "model %s: the batch has no ragged i32 tensor", model);
}

enum weir_status trainer_tensors_check_tokens(const char *model, const struct weir_batch *batch,
                                              const struct weir_tensor *tensor, size_t s,
                                              uint64_t buckets, struct weir_error *err)
{
    const int32_t *tokens = tensor->data;
    for (uint32_t i = tensor->offsets[s]; i < tensor->offsets[s + 1]; i++) {
        if (tokens[i] < 0 || (uint64_t)tokens[i] >= buckets)
            return weir_fail(err, WEIR_INVALID,
                             "model %s: sample %llu: token %d, expected 0 to %llu: give "
                             "training.model as many buckets as tokenize_hash",
                             model, (unsigned long long)batch->ids[s], tokens[i],
                             (unsigned long long)buckets - 1);
    }
    return WEIR_OK;
}
