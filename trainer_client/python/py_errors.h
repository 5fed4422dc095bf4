/* The module's state, and how a status of the client library becomes an exception. */
#ifndef WEIR_TRAINER_PYTHON_PY_ERRORS_H
#define WEIR_TRAINER_PYTHON_PY_ERRORS_H

#include <Python.h>
#include <weir/client.h>

struct py_module {
    PyTypeObject *client_type, *batch_type, *tensor_type;
    PyObject *errors[WEIR_CLIENT_END + 1]; /* by status; 0: the base class */
};

/* Returns the state of the module that the type of `self` belongs to. */
struct py_module *trainer_python_module_of(PyObject *self);
/* Adds the exceptions to the module. -1: an exception is set. */
int trainer_python_errors_add(PyObject *module);
/* Sets the exception. Returns NULL, always. */
PyObject *trainer_python_raise(const struct py_module *module, enum weir_client_status status,
                               const struct weir_client_error *error);
/* The same with words of the binding's own, as PyUnicode_FromFormat() takes them. */
PyObject *trainer_python_fail(const struct py_module *module, enum weir_client_status status,
                              const char *format, ...);
/* The same for what a forked child, or a process that was sent a pickle, tries. */
PyObject *trainer_python_fail_forked(const struct py_module *module, long owner);
/* A method __reduce__ that refuses. */
PyObject *trainer_python_refuse_pickling(PyObject *self, PyObject *none);

#endif
