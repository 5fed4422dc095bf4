/* weir._weir.Client, the calls of an open run, and the question for its task. */
#ifndef WEIR_TRAINER_PYTHON_PY_CLIENT_H
#define WEIR_TRAINER_PYTHON_PY_CLIENT_H

#include "trainer_client/python/py_errors.h"

extern PyType_Spec trainer_python_client_spec;

/* request_task(run, session, socket_dir, timeout_ms) of the module. */
PyObject *trainer_python_request_task(PyObject *module, PyObject *arguments);
/* request_next(capsule, socket_dir) of the module: None when nothing is left to do. */
PyObject *trainer_python_request_next(PyObject *module, PyObject *arguments);
/* state_batches(state) of the module. */
PyObject *trainer_python_state_batches(PyObject *module, PyObject *state);

#endif
