/* Tensors of a batch: see tensors.h. */
#include "trainer_client/models/tensors.h"

#include "core/wire/tensor.h"

#include <stdio.h>

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
