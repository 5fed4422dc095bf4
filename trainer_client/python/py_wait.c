/* Slices; see the header. */
#include "trainer_client/python/py_wait.h"

#include "core/base/clock.h"

enum py_wait trainer_python_errand_run(const struct py_module *module, struct errand *errand)
{
    bool is_done = false;

    if (!trainer_python_errand_start(errand)) {
        PyErr_SetFromErrno(PyExc_OSError);
        return PY_WAIT_FAILED;
    }
    while (!is_done) {
        Py_BEGIN_ALLOW_THREADS is_done = trainer_python_errand_wait(errand, SLICE_MS);
        Py_END_ALLOW_THREADS if (!is_done && PyErr_CheckSignals() < 0) return PY_WAIT_INTERRUPTED;
    }
    if (errand->status == WEIR_CLIENT_OK)
        return PY_WAIT_OK;
    trainer_python_raise(module, errand->status, &errand->error);
    return PY_WAIT_FAILED;
}

int64_t trainer_python_wait_end(int64_t timeout_ms)
{
    int64_t now_ms = weir_now_ms();

    return timeout_ms < 0 || timeout_ms > INT64_MAX - now_ms ? INT64_MAX : now_ms + timeout_ms;
}

int64_t trainer_python_wait_slice(int64_t end_ms)
{
    int64_t left_ms = end_ms - weir_now_ms();

    if (left_ms < 0)
        return 0;
    return left_ms < SLICE_MS ? left_ms : SLICE_MS;
}
