/* Naming the tensors of a model file. */
#include "orchestrator/models/tensors.h"

#include <stdbool.h>
#include <stdio.h>

/* Lists each block of a plane: 0 is the parameters, from 1 on the states of the optimizer. */
static size_t list_plane(const struct weir_model_file *file, const float *floats, uint32_t plane,
                         struct model_tensor *tensors)
{
    bool has_several = file->block_count > 1;
    for (size_t i = 0; i < file->block_count; i++) {
        const struct weir_model_block *block = &file->blocks[i];
        tensors[i] =
            (struct model_tensor){.at = floats, .rows = block->rows, .width = block->width};
        if (plane == 0)
            snprintf(tensors[i].name, MODEL_TENSOR_NAME, "%s", block->name);
        else
            snprintf(tensors[i].name, MODEL_TENSOR_NAME, "optimizer_state%s%s%s",
                     has_several ? "." : "", has_several ? block->name : "", plane > 1 ? ".2" : "");
        floats += block->rows * block->width;
    }
    return file->block_count;
}

size_t orchestrator_model_tensors(const struct weir_model_file *file,
                                  struct model_tensor ret_tensors[MODEL_FLOAT_TENSORS])
{
    size_t count = list_plane(file, file->parameters, 0, ret_tensors), floats = 0;
    for (size_t i = 0; i < file->block_count; i++)
        floats += file->blocks[i].rows * file->blocks[i].width;
    for (uint32_t i = 0; i < file->state_blocks; i++)
        count += list_plane(file, file->optimizer_state + i * floats, i + 1, ret_tensors + count);
    return count;
}
