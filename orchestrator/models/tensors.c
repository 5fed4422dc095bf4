/* Naming the tensors of a model file. */
#include "orchestrator/models/tensors.h"

#include <stdio.h>

static size_t list_blocks(const struct weir_model_file *file, const float *floats, bool is_state,
                          struct model_tensor *tensors)
{
    bool several = file->block_count > 1;
    for (size_t i = 0; i < file->block_count && floats != NULL; i++) {
        const struct weir_model_block *block = &file->blocks[i];
        tensors[i] =
            (struct model_tensor){.at = floats, .rows = block->rows, .width = block->width};
        snprintf(tensors[i].name, MODEL_TENSOR_NAME, "%s%s%s", is_state ? "optimizer_state" : "",
                 is_state && several ? "." : "", is_state && !several ? "" : block->name);
        floats += block->rows * block->width;
    }
    return floats != NULL ? file->block_count : 0;
}

size_t orchestrator_model_tensors(const struct weir_model_file *file,
                                  struct model_tensor ret_tensors[MODEL_FLOAT_TENSORS])
{
    size_t count = list_blocks(file, file->parameters, false, ret_tensors);
    return count + list_blocks(file, file->optimizer_state, true, ret_tensors + count);
}
