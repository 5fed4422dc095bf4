/* Arrays of a program, through the buffer protocol. */
#include "trainer_client/python/py_values.h"

#include "core/base/memory.h"

#include <stdlib.h>
#include <string.h>

static char type_of(const Py_buffer *view)
{
    const char *format = view->format != NULL ? view->format : "B";

    if (*format == '@' || *format == '=' || *format == '<')
        format++;
    return strlen(format) == 1 ? *format : '?';
}

static int check(const struct py_module *module, const Py_buffer *view, size_t samples)
{
    char type = type_of(view);

    if (type != 'f' && type != 'd') {
        trainer_python_fail(module, WEIR_CLIENT_INVALID,
                            "outputs: found elements of format '%s', expected float32 or float64",
                            view->format != NULL ? view->format : "B");
        return -1;
    }
    if (view->ndim < 1 || view->ndim > 2 || (size_t)view->shape[0] != samples) {
        trainer_python_fail(
            module, WEIR_CLIENT_INVALID,
            "outputs: found %d dimensions with %zd rows, expected one or two with a "
            "row for each of the %zu samples",
            view->ndim, view->ndim > 0 ? view->shape[0] : (Py_ssize_t)0, samples);
        return -1;
    }
    if (view->ndim == 2 && view->shape[1] > UINT32_MAX) {
        trainer_python_fail(module, WEIR_CLIENT_INVALID, "outputs: found rows of %zd numbers",
                            view->shape[1]);
        return -1;
    }
    return 0;
}

static void narrow(struct py_values *values, size_t count)
{
    const double *from = values->view.buf;

    values->made = weir_calloc(count + 1, sizeof(*values->made));
    for (size_t i = 0; i < count; i++)
        values->made[i] = (float)from[i];
    values->at = values->made;
}

int trainer_python_values_take(const struct py_module *module, PyObject *object, size_t samples,
                               struct py_values *ret_values)
{
    struct py_values *values = ret_values;

    memset(values, 0, sizeof(*values));
    if (PyObject_GetBuffer(object, &values->view, PyBUF_C_CONTIGUOUS | PyBUF_FORMAT) < 0)
        return -1;
    if (check(module, &values->view, samples) < 0) {
        PyBuffer_Release(&values->view);
        return -1;
    }
    values->width = values->view.ndim == 2 ? (uint32_t)values->view.shape[1] : 1;
    values->at = values->view.buf;
    if (type_of(&values->view) == 'd')
        narrow(values, samples * values->width);
    return 0;
}

void trainer_python_values_drop(struct py_values *values)
{
    free(values->made);
    PyBuffer_Release(&values->view);
}
