/* weir.Batch. */
#ifndef WEIR_TRAINER_PYTHON_PY_BATCH_H
#define WEIR_TRAINER_PYTHON_PY_BATCH_H

#include "trainer_client/python/py_errors.h"

#include "trainer_client/python/counted.h"

extern PyType_Spec trainer_python_batch_spec;

/* Returns the batch as Python sees it; takes `batch`, and gives it back when that fails. */
PyObject *trainer_python_batch_object(const struct py_module *module, struct counted_client *client,
                                      struct weir_batch *batch);

#endif
