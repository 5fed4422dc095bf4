/* Waiting without the interpreter's lock, in slices, so that Ctrl-C is heard. */
#ifndef WEIR_TRAINER_PYTHON_PY_WAIT_H
#define WEIR_TRAINER_PYTHON_PY_WAIT_H

#include "trainer_client/python/py_errors.h"

#include "trainer_client/python/errand.h"

enum { SLICE_MS = 100 };

enum py_wait { PY_WAIT_OK, PY_WAIT_FAILED, PY_WAIT_INTERRUPTED };

/* Runs the errand. Unless it is OK, an exception is set: the call's, or that of a signal's handler, and then the call
 * goes on by itself. */
enum py_wait trainer_python_errand_run(const struct py_module *module, struct errand *errand);
/* Returns when a call of `timeout_ms` (negative: without end) that begins now is over. */
int64_t trainer_python_wait_end(int64_t timeout_ms);
/* Returns how long the next slice of such a call is. */
int64_t trainer_python_wait_slice(int64_t end_ms);

#endif
