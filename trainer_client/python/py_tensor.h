/* weir.Tensor: one array of a batch, as the buffer protocol and DLPack show it. */
#ifndef WEIR_TRAINER_PYTHON_PY_TENSOR_H
#define WEIR_TRAINER_PYTHON_PY_TENSOR_H

#include "trainer_client/python/py_errors.h"

#include "trainer_client/python/counted.h"

/* A weir.Batch, as its tensors know it. */
struct py_batch {
    PyObject ob_base;
    struct counted_batch *counted; /* NULL: released */
    uint64_t number;
};

/* An array to show. */
struct py_array {
    const char *name;
    enum weir_tensor_type type;
    int rank;
    int64_t shape[WEIR_TENSOR_RANK_MAX];
    const void *data;
};

extern PyType_Spec trainer_python_tensor_spec;

/* Returns the batch's memory while it is in this process's hands; NULL with an exception. */
struct counted_batch *trainer_python_batch_of(struct py_batch *batch);
/* Returns the name of a type, as NumPy has it. */
const char *trainer_python_tensor_type_name(enum weir_tensor_type type);
/* Returns a tensor of that batch; `offsets` (or NULL) is taken. */
PyObject *trainer_python_tensor_new(struct py_batch *batch, const struct py_array *array,
                                    PyObject *offsets);

#endif
