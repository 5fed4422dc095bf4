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

static float number_at(const char *at, char type)
{
    double wide;
    float number;

    if (type == 'f') {
        memcpy(&number, at, sizeof(number));
        return number;
    }
    memcpy(&wide, at, sizeof(wide));
    return (float)wide;
}

/* Numbers that are wider, or do not lie one after the other. */
static void gather(struct py_values *values)
{
    const Py_buffer *view = &values->view;
    Py_ssize_t width = values->width, step = view->ndim == 2 ? view->strides[1] : 0;
    char type = type_of(view);

    values->made = weir_calloc((size_t)(view->shape[0] * width) + 1, sizeof(*values->made));
    for (Py_ssize_t row = 0; row < view->shape[0]; row++) {
        const char *at = (const char *)view->buf + row * view->strides[0];
        for (Py_ssize_t i = 0; i < width; i++)
            values->made[row * width + i] = number_at(at + i * step, type);
    }
    values->at = values->made;
}

int trainer_python_values_take(const struct py_module *module, PyObject *object, size_t samples,
                               struct py_values *ret_values)
{
    struct py_values *values = ret_values;

    memset(values, 0, sizeof(*values));
    if (PyObject_GetBuffer(object, &values->view, PyBUF_STRIDES | PyBUF_FORMAT) < 0)
        return -1;
    if (check(module, &values->view, samples) < 0) {
        PyBuffer_Release(&values->view);
        return -1;
    }
    values->width = values->view.ndim == 2 ? (uint32_t)values->view.shape[1] : 1;
    values->at = values->view.buf;
    if (type_of(&values->view) != 'f' || !PyBuffer_IsContiguous(&values->view, 'C'))
        gather(values);
    return 0;
}

void trainer_python_values_drop(struct py_values *values)
{
    free(values->made);
    PyBuffer_Release(&values->view);
}
