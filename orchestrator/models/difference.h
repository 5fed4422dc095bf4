/* Distance between the tensors of two model files. Pure. */
#ifndef ORCHESTRATOR_MODELS_DIFFERENCE_H
#define ORCHESTRATOR_MODELS_DIFFERENCE_H

#include "core/base/bytes.h"
#include "core/base/error.h"
#include "orchestrator/models/tensors.h"

enum { MODEL_DIFFERENCES = 2 * MODEL_FLOAT_TENSORS };

/* One tensor of both, where they overlap: a model may have got rows (inputs) or columns (classes) more. */
struct tensor_difference {
    char name[MODEL_TENSOR_NAME];
    uint64_t rows[2]; /* of either; 0: it has none */
    uint32_t width[2];
    uint64_t compared;   /* floats that both have */
    uint64_t changed;    /* of these, in any bit */
    uint64_t not_finite; /* of these, in either: left out of what follows */
    double max_abs, rms; /* of the differences */
};

/* Compares tensors of the same name; those of `a` first, `*ret_count` in all. CORRUPT when one is no model file
 * (core/wire/model_file.h). */
enum weir_status orchestrator_model_difference(
    struct weir_bytes a, struct weir_bytes b,
    struct tensor_difference ret_tensors[MODEL_DIFFERENCES], size_t *ret_count,
    struct weir_error *err) WEIR_MUST_USE;

#endif
