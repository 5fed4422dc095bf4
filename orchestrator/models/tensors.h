/* The tensors of a model file, by name. Pure. */
#ifndef ORCHESTRATOR_MODELS_TENSORS_H
#define ORCHESTRATOR_MODELS_TENSORS_H

#include "core/wire/model_file.h"

enum {
    /* At most: each block, and its states. */
    MODEL_FLOAT_TENSORS = (1 + WEIR_MODEL_STATE_BLOCKS_MAX) * WEIR_MODEL_BLOCKS_MAX,
    MODEL_TENSOR_NAME = 80, /* bytes, the final 0 included */
};

/* A matrix of floats of a model. */
struct model_tensor {
    char name[MODEL_TENSOR_NAME];
    const float *at; /* (rows, width) */
    uint64_t rows;
    uint32_t width;
};

/* Lists the parameter blocks by their names, then, where the file has them, their optimizer states: `optimizer_state`,
 * or `optimizer_state.BLOCK` where there are several blocks; the second ones of an optimizer that has two end in `.2`.
 * Returns their number. */
size_t orchestrator_model_tensors(const struct weir_model_file *file,
                                  struct model_tensor ret_tensors[MODEL_FLOAT_TENSORS]);

#endif
