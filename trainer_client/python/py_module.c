/* The extension module weir._weir: types and exceptions. */
#include <Python.h>

#include "trainer_client/python/py_batch.h"
#include "trainer_client/python/py_client.h"
#include "trainer_client/python/py_tensor.h"

static PyTypeObject *add_type(PyObject *module, PyType_Spec *spec)
{
    PyObject *type = PyType_FromModuleAndSpec(module, spec, NULL);

    if (type != NULL && PyModule_AddType(module, (PyTypeObject *)type) < 0)
        Py_CLEAR(type);
    return (PyTypeObject *)type;
}

static int execute(PyObject *module)
{
    struct py_module *state = PyModule_GetState(module);

    if (trainer_python_errors_add(module) < 0)
        return -1;
    state->tensor_type = add_type(module, &trainer_python_tensor_spec);
    state->batch_type = add_type(module, &trainer_python_batch_spec);
    state->client_type = add_type(module, &trainer_python_client_spec);
    if (state->tensor_type == NULL || state->batch_type == NULL || state->client_type == NULL)
        return -1;
    return PyModule_AddIntConstant(module, "CLIENT_VERSION", WEIR_CLIENT_VERSION);
}

static int traverse(PyObject *module, visitproc visit, void *arg)
{
    struct py_module *state = PyModule_GetState(module);

    Py_VISIT(state->tensor_type);
    Py_VISIT(state->batch_type);
    Py_VISIT(state->client_type);
    for (size_t i = 0; i <= WEIR_CLIENT_END; i++)
        Py_VISIT(state->errors[i]);
    return 0;
}

static int clear(PyObject *module)
{
    struct py_module *state = PyModule_GetState(module);

    Py_CLEAR(state->tensor_type);
    Py_CLEAR(state->batch_type);
    Py_CLEAR(state->client_type);
    for (size_t i = 0; i <= WEIR_CLIENT_END; i++)
        Py_CLEAR(state->errors[i]);
    return 0;
}

static PyMethodDef FUNCTIONS[] = {
    {"request_task", trainer_python_request_task, METH_VARARGS,
     "request_task($module, run, session, socket_dir, timeout_ms, /)\n--\n\nweir_client_task(), as a dict."},
    {"request_next", trainer_python_request_next, METH_VARARGS,
     "request_next($module, capsule, socket_dir, /)\n--\n\nweir_client_next_task(), as a dict; None: all is done."},
    {"state_batches", trainer_python_state_batches, METH_O,
     "state_batches($module, state, /)\n--\n\nReturn the number of batches that a state contains; 0: it is none."},
    {NULL, NULL, 0, NULL},
};

static PyModuleDef_Slot SLOTS[] = {{Py_mod_exec, execute}, {0, NULL}};

static PyModuleDef MODULE = {
    PyModuleDef_HEAD_INIT,
    .m_name = "weir._weir",
    .m_doc = "The client library, weir/client.h.",
    .m_size = sizeof(struct py_module),
    .m_methods = FUNCTIONS,
    .m_slots = SLOTS,
    .m_traverse = traverse,
    .m_clear = clear,
};

/* NOLINTBEGIN(readability-identifier-naming): the name that the interpreter looks for */
PyMODINIT_FUNC PyInit__weir(void);

PyMODINIT_FUNC PyInit__weir(void)
{
    return PyModuleDef_Init(&MODULE);
}
/* NOLINTEND(readability-identifier-naming) */
