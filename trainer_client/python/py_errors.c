/* weir.Error and its subclasses, one for each status. */
#include "trainer_client/python/py_errors.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

static const struct error {
    enum weir_client_status status;
    const char *name, *doc;
} ERRORS[] = {
    {WEIR_CLIENT_INVALID, "Invalid", "An argument or an answer makes no sense."},
    {WEIR_CLIENT_NOT_FOUND, "NotFound", "There is no such run."},
    {WEIR_CLIENT_LIMIT, "Limit", "Too many batches are in hand, or not consumed."},
    {WEIR_CLIENT_TIMEOUT, "Timeout", "Not yet; the call may be repeated."},
    {WEIR_CLIENT_UNAVAILABLE, "Unavailable", "Weir cannot be reached."},
    {WEIR_CLIENT_STALE, "Stale", "Another session has taken this run over: stop."},
    {WEIR_CLIENT_DENIED, "Denied", "Not permitted."},
    {WEIR_CLIENT_UNSUPPORTED, "Unsupported", "This version of Weir cannot do it."},
    {WEIR_CLIENT_INTERNAL, "Internal", "A defect in Weir."},
    {WEIR_CLIENT_RESTART, "Restart",
     "The ranks begin again: close, load an earlier state, open.\n\n"
     "`batches` is the number of batches in the state to load, when opening raised it."},
};

static const char BASE_DOC[] =
    "Failure of a call; its text says what was found, what was expected and what to do.\n\n"
    "`status` is the number of weir/client.h.";

struct py_module *trainer_python_module_of(PyObject *self)
{
    return PyType_GetModuleState(Py_TYPE(self));
}

static PyObject *add_one(PyObject *module, const struct error *error, PyObject *base)
{
    char full[64];
    snprintf(full, sizeof(full), "weir.%s", error->name);
    PyObject *members = Py_BuildValue("{s:i,s:K}", "status", (int)error->status, "batches", 0ULL);
    if (members == NULL)
        return NULL;
    PyObject *type = PyErr_NewExceptionWithDoc(full, error->doc, base, members);
    Py_DECREF(members);
    if (type != NULL && PyModule_AddObjectRef(module, error->name, type) < 0)
        Py_CLEAR(type);
    return type;
}

int trainer_python_errors_add(PyObject *module)
{
    struct py_module *state = PyModule_GetState(module);
    const struct error base = {WEIR_CLIENT_OK, "Error", BASE_DOC};

    state->errors[0] = add_one(module, &base, NULL);
    for (size_t i = 0; state->errors[0] != NULL && i < sizeof(ERRORS) / sizeof(*ERRORS); i++) {
        PyObject *type = add_one(module, &ERRORS[i], state->errors[0]);
        if (type == NULL)
            return -1;
        state->errors[ERRORS[i].status] = type;
    }
    return state->errors[0] != NULL ? 0 : -1;
}

/* Takes `text`. */
static PyObject *set_error(const struct py_module *module, enum weir_client_status status,
                           PyObject *text, uint64_t batches)
{
    PyObject *type = (size_t)status <= WEIR_CLIENT_END ? module->errors[status] : NULL;
    PyObject *exception =
        text == NULL
            ? NULL
            : PyObject_CallFunctionObjArgs(type != NULL ? type : module->errors[0], text, NULL);

    if (exception != NULL && status == WEIR_CLIENT_RESTART) {
        PyObject *number = PyLong_FromUnsignedLongLong(batches);
        if (number == NULL || PyObject_SetAttrString(exception, "batches", number) < 0)
            Py_CLEAR(exception);
        Py_XDECREF(number);
    }
    if (exception != NULL)
        PyErr_SetObject((PyObject *)Py_TYPE(exception), exception);
    Py_XDECREF(exception);
    Py_XDECREF(text);
    return NULL;
}

PyObject *trainer_python_raise(const struct py_module *module, enum weir_client_status status,
                               const struct weir_client_error *error)
{
    PyObject *text = PyUnicode_DecodeUTF8(error->text, (Py_ssize_t)strlen(error->text), "replace");

    return set_error(module, status, text, error->batches);
}

PyObject *trainer_python_fail(const struct py_module *module, enum weir_client_status status,
                              const char *format, ...)
{
    va_list arguments;

    va_start(arguments, format);
    PyObject *text = PyUnicode_FromFormatV(format, arguments);
    va_end(arguments);
    return set_error(module, status, text, 0);
}

PyObject *trainer_python_fail_forked(const struct py_module *module, long owner)
{
    return trainer_python_fail(module, WEIR_CLIENT_UNSUPPORTED,
                               "the session belongs to process %ld, which opened it: a forked "
                               "child cannot use it (with a DataLoader: num_workers=0)",
                               owner);
}

PyObject *trainer_python_refuse_pickling(PyObject *self, PyObject *none)
{
    (void)none;
    return trainer_python_fail(trainer_python_module_of(self), WEIR_CLIENT_UNSUPPORTED,
                               "%R cannot be pickled: it belongs to the process that opened the "
                               "session (with a DataLoader: num_workers=0)",
                               Py_TYPE(self));
}
