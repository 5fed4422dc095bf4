/* Rows of numbers that a program hands over. */
#ifndef WEIR_TRAINER_PYTHON_PY_VALUES_H
#define WEIR_TRAINER_PYTHON_PY_VALUES_H

#include "trainer_client/python/py_errors.h"

#include <stddef.h>
#include <stdint.h>

struct py_values {
    const float *at;
    uint32_t width; /* numbers of a row */
    Py_buffer view;
    float *made; /* NULL: `at` is the program's own memory */
};

/* Takes `object`, an array of float32 or float64 with a row a sample. -1: an exception is set. */
int trainer_python_values_take(const struct py_module *module, PyObject *object, size_t samples,
                               struct py_values *ret_values);
void trainer_python_values_drop(struct py_values *values);

#endif
