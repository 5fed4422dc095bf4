/* Tensors of a batch, in words: see tensors.h. */
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
