/* The calls of weir/client.h, one method each; what they mean together is weir/session.py's. */
#include "trainer_client/python/py_client.h"

#include "trainer_client/python/py_batch.h"
#include "trainer_client/python/py_tensor.h"
#include "trainer_client/python/py_values.h"
#include "trainer_client/python/py_wait.h"

#define TASK_CAPSULE "weir.task"

struct py_client {
    PyObject ob_base;
    struct counted_client *counted; /* NULL: closed */
    bool is_busy;                   /* a thread is inside a call */
};

/* ---- the task ---- */

static void drop_task(PyObject *capsule)
{
    trainer_python_task_drop(PyCapsule_GetPointer(capsule, TASK_CAPSULE));
}

static PyObject *describe_classes(const struct weir_client_task *task)
{
    PyObject *classes = PyTuple_New((Py_ssize_t)task->class_count);

    for (size_t i = 0; classes != NULL && i < task->class_count; i++) {
        PyObject *name = PyUnicode_FromString(task->classes[i]);
        if (name == NULL || PyTuple_SetItem(classes, (Py_ssize_t)i, name) < 0)
            Py_CLEAR(classes);
    }
    return classes;
}

/* The members by name, and the task itself. */
static PyObject *describe_task(const struct weir_client_task *task, PyObject *capsule)
{
    PyObject *classes = describe_classes(task);

    if (classes == NULL)
        return NULL;
    return Py_BuildValue(
        "{s:O,s:K,s:K,s:s,s:s,s:s,s:s#,s:s,s:s,s:z,s:K,s:i,s:I,s:N,s:N,s:s,s:K,s:K}", "capsule",
        capsule, "run", (unsigned long long)task->run, "session", (unsigned long long)task->session,
        "mode", task->mode, "pipeline", task->pipeline, "file", task->file, "config", task->config,
        (Py_ssize_t)task->config_size, "options", task->options, "directory", task->directory,
        "start_from", task->start_from, "seed", (unsigned long long)task->seed, "label_type",
        (int)task->label_type, "outputs", task->outputs, "reports", PyBool_FromLong(task->reports),
        "classes", classes, "batch_then_sample", task->batch_then_sample, "epochs_before",
        (unsigned long long)task->epochs_before, "epochs_in_all",
        (unsigned long long)task->epochs_in_all);
}

/* Takes the task that the errand has brought. */
static PyObject *give_task(struct errand *errand)
{
    struct counted_task *counted = trainer_python_task_new(errand->task);

    errand->task = NULL;
    PyObject *capsule = PyCapsule_New(counted, TASK_CAPSULE, drop_task);
    PyObject *described = capsule != NULL ? describe_task(counted->task, capsule) : NULL;
    if (capsule == NULL)
        trainer_python_task_drop(counted);
    Py_XDECREF(capsule);
    return described;
}

PyObject *trainer_python_request_task(PyObject *module, PyObject *arguments)
{
    struct weir_client_options options = WEIR_CLIENT_OPTIONS_INIT;
    unsigned long long run = 0, session = 0;

    if (!PyArg_ParseTuple(arguments, "KKzI:request_task", &run, &session, &options.socket_dir,
                          &options.open_timeout_ms))
        return NULL;
    options.run = run;
    options.session = session;
    struct errand *errand = trainer_python_errand_task(&options);
    PyObject *described = NULL;
    if (trainer_python_errand_run(PyModule_GetState(module), errand) == PY_WAIT_OK)
        described = give_task(errand);
    trainer_python_errand_drop(errand);
    return described;
}

PyObject *trainer_python_request_next(PyObject *module, PyObject *arguments)
{
    struct weir_client_options options = WEIR_CLIENT_OPTIONS_INIT;
    PyObject *capsule, *described = NULL;

    if (!PyArg_ParseTuple(arguments, "Oz:request_next", &capsule, &options.socket_dir))
        return NULL;
    struct counted_task *finished = PyCapsule_GetPointer(capsule, TASK_CAPSULE);
    if (finished == NULL)
        return NULL;
    struct errand *errand = trainer_python_errand_next_task(&options, finished);
    enum py_wait waited = trainer_python_errand_run(PyModule_GetState(module), errand);
    if (waited == PY_WAIT_OK)
        described = give_task(errand);
    else if (waited == PY_WAIT_FAILED && errand->status == WEIR_CLIENT_END) {
        PyErr_Clear();
        described = Py_None;
        Py_INCREF(described);
    }
    trainer_python_errand_drop(errand);
    return described;
}

PyObject *trainer_python_state_batches(PyObject *module, PyObject *state)
{
    char *bytes;
    Py_ssize_t size;

    (void)module;
    if (PyBytes_AsStringAndSize(state, &bytes, &size) < 0)
        return NULL;
    return PyLong_FromUnsignedLongLong(weir_client_state_batches(bytes, (size_t)size));
}

/* ---- opening and closing ---- */

static PyObject *open_client(PyTypeObject *type, const struct weir_client_options *options,
                             struct counted_task *task)
{
    struct py_module *module = PyType_GetModuleState(type);
    struct counted_client *counted = trainer_python_client_new(task);
    struct errand *errand = trainer_python_errand_open(options, counted);
    struct py_client *client = NULL;

    if (trainer_python_errand_run(module, errand) == PY_WAIT_OK) {
        allocfunc alloc = (allocfunc)PyType_GetSlot(type, Py_tp_alloc);
        client = (struct py_client *)alloc(type, 0);
    }
    trainer_python_errand_drop(errand);
    if (client != NULL)
        client->counted = counted;
    else
        trainer_python_client_drop(counted);
    return (PyObject *)client;
}

static PyObject *client_new(PyTypeObject *type, PyObject *arguments, PyObject *keywords)
{
    struct weir_client_options options = WEIR_CLIENT_OPTIONS_INIT;
    PyObject *capsule;
    unsigned long long prefetch = 0;
    Py_ssize_t state_size = 0;
    const char *state = NULL;

    (void)keywords;
    if (!PyArg_ParseTuple(arguments, "OzIz#IIK:Client", &capsule, &options.socket_dir,
                          &options.open_timeout_ms, &state, &state_size, &options.rank,
                          &options.ranks, &prefetch))
        return NULL;
    struct counted_task *task = PyCapsule_GetPointer(capsule, TASK_CAPSULE);
    if (task == NULL)
        return NULL;
    options.state = state;
    options.state_size = (size_t)state_size;
    options.prefetch_bytes = prefetch;
    return open_client(type, &options, task);
}

static void client_dealloc(PyObject *self)
{
    PyTypeObject *type = Py_TYPE(self);
    freefunc free_self = (freefunc)PyType_GetSlot(type, Py_tp_free);

    trainer_python_client_drop(((struct py_client *)self)->counted);
    free_self(self);
    Py_DECREF(type);
}

static PyObject *client_close(PyObject *self, PyObject *none)
{
    struct py_client *client = (struct py_client *)self;
    struct counted_client *counted = client->counted;

    (void)none;
    client->counted = NULL;
    Py_BEGIN_ALLOW_THREADS trainer_python_client_drop(counted);
    Py_END_ALLOW_THREADS Py_RETURN_NONE;
}

/* ---- around each call ---- */

/* Returns the run, held, for one call; NULL with an exception. */
static struct counted_client *enter(PyObject *self)
{
    struct py_client *client = (struct py_client *)self;
    struct py_module *module = trainer_python_module_of(self);

    if (client->counted == NULL) {
        trainer_python_fail(module, WEIR_CLIENT_INVALID, "the session is closed");
        return NULL;
    }
    if (!trainer_python_client_is_ours(client->counted)) {
        trainer_python_fail_forked(module, (long)client->counted->owner);
        return NULL;
    }
    if (client->is_busy) {
        trainer_python_fail(module, WEIR_CLIENT_INVALID,
                            "another thread is inside a call of this session: take turns");
        return NULL;
    }
    client->is_busy = true;
    return trainer_python_client_hold(client->counted);
}

static void leave(PyObject *self, struct counted_client *counted)
{
    ((struct py_client *)self)->is_busy = false;
    trainer_python_client_drop(counted);
}

/* Returns None, or NULL with the exception. */
static PyObject *outcome(PyObject *self, enum weir_client_status status,
                         const struct weir_client_error *error)
{
    if (status != WEIR_CLIENT_OK)
        return trainer_python_raise(trainer_python_module_of(self), status, error);
    Py_RETURN_NONE;
}

/* ---- batches ---- */

static PyObject *client_next(PyObject *self, PyObject *arguments)
{
    struct py_module *module = trainer_python_module_of(self);
    struct weir_client_error error;
    struct weir_batch *batch = NULL;
    long long timeout_ms;

    if (!PyArg_ParseTuple(arguments, "L:next", &timeout_ms))
        return NULL;
    for (int64_t end_ms = trainer_python_wait_end(timeout_ms);;) {
        int64_t slice_ms = trainer_python_wait_slice(end_ms);
        struct counted_client *counted = enter(self);
        if (counted == NULL)
            return NULL;
        enum weir_client_status status;
        Py_BEGIN_ALLOW_THREADS status = weir_client_next(counted->client, slice_ms, &batch, &error);
        Py_END_ALLOW_THREADS PyObject *made =
            status == WEIR_CLIENT_OK ? trainer_python_batch_object(module, counted, batch) : NULL;
        leave(self, counted);
        if (status == WEIR_CLIENT_OK)
            return made;
        if (status == WEIR_CLIENT_END)
            Py_RETURN_NONE;
        if (status != WEIR_CLIENT_TIMEOUT || trainer_python_wait_slice(end_ms) == 0)
            return trainer_python_raise(module, status, &error);
        if (PyErr_CheckSignals() < 0)
            return NULL;
    }
}

static PyObject *client_consumed(PyObject *self, PyObject *arguments)
{
    struct weir_client_error error;
    unsigned long long number;

    if (!PyArg_ParseTuple(arguments, "K:consumed", &number))
        return NULL;
    struct counted_client *counted = enter(self);
    if (counted == NULL)
        return NULL;
    enum weir_client_status status = weir_client_consumed(counted->client, number, &error);
    leave(self, counted);
    return outcome(self, status, &error);
}

/* Of a batch of this session, in hand. */
static struct counted_batch *own_batch(PyObject *self, PyObject *object,
                                       const struct counted_client *counted)
{
    struct py_module *module = trainer_python_module_of(self);

    if (!Py_IS_TYPE(object, module->batch_type)) {
        PyErr_Format(PyExc_TypeError, "output: expected a weir.Batch, found %R", Py_TYPE(object));
        return NULL;
    }
    struct counted_batch *batch = trainer_python_batch_of((struct py_batch *)object);
    if (batch == NULL || batch->client == counted)
        return batch;
    trainer_python_fail(module, WEIR_CLIENT_INVALID, "output: the batch is another session's");
    return NULL;
}

static PyObject *say(PyObject *self, struct counted_client *counted, struct counted_batch *batch,
                     int kind, PyObject *values)
{
    struct weir_client_error error;
    struct py_values rows;

    if (trainer_python_values_take(trainer_python_module_of(self), values, batch->batch->samples,
                                   &rows) < 0)
        return NULL;
    enum weir_client_status status = weir_client_output(
        counted->client, batch->batch, (enum weir_output)kind, rows.width, rows.at, &error);
    trainer_python_values_drop(&rows);
    return outcome(self, status, &error);
}

static PyObject *client_output(PyObject *self, PyObject *arguments)
{
    PyObject *object, *values, *said = NULL;
    int kind;

    if (!PyArg_ParseTuple(arguments, "OiO:output", &object, &kind, &values))
        return NULL;
    struct counted_client *counted = enter(self);
    if (counted == NULL)
        return NULL;
    struct counted_batch *batch = own_batch(self, object, counted);
    if (batch != NULL)
        said = say(self, counted, batch, kind, values);
    leave(self, counted);
    return said;
}

/* The texts of a tuple, borrowed from it; the caller frees. NULL with an exception: one is no text. */
static const char **texts_of(PyObject *tuple, Py_ssize_t count)
{
    const char **texts = PyMem_Calloc((size_t)count + 1, sizeof(*texts));

    if (texts == NULL)
        return (const char **)PyErr_NoMemory();
    for (Py_ssize_t i = 0; i < count; i++) {
        texts[i] = PyUnicode_AsUTF8AndSize(PyTuple_GetItem(tuple, i), NULL);
        if (texts[i] == NULL) {
            PyMem_Free(texts);
            return NULL;
        }
    }
    return texts;
}

static PyObject *client_output_names(PyObject *self, PyObject *arguments)
{
    struct weir_client_error error;
    PyObject *tuple;

    if (!PyArg_ParseTuple(arguments, "O!:output_names", &PyTuple_Type, &tuple))
        return NULL;
    Py_ssize_t count = PyTuple_Size(tuple);
    const char **names = texts_of(tuple, count);
    struct counted_client *counted = names != NULL ? enter(self) : NULL;
    if (counted == NULL) {
        PyMem_Free(names);
        return NULL;
    }
    enum weir_client_status status =
        weir_client_output_names(counted->client, (uint32_t)count, names, &error);
    leave(self, counted);
    PyMem_Free(names);
    return outcome(self, status, &error);
}

static PyObject *client_element_name(PyObject *self, PyObject *arguments)
{
    const char *tensor;
    unsigned long long index;

    if (!PyArg_ParseTuple(arguments, "sK:element_name", &tensor, &index))
        return NULL;
    struct counted_client *counted = enter(self);
    if (counted == NULL)
        return NULL;
    PyObject *name = Py_BuildValue("z", weir_client_element_name(counted->client, tensor, index));
    leave(self, counted);
    return name;
}

/* (name, type, shape of a row or None, below, below_before) */
static PyObject *announced(const struct weir_client_tensor *tensor)
{
    PyObject *shape = tensor->is_ragged ? Py_NewRef(Py_None) : PyTuple_New(tensor->rank);
    for (uint32_t i = 0; shape != NULL && i < tensor->rank; i++) {
        PyObject *extent = PyLong_FromUnsignedLongLong(tensor->shape[i]);
        if (extent == NULL || PyTuple_SetItem(shape, i, extent) < 0)
            Py_CLEAR(shape);
    }
    return Py_BuildValue("ssNKK", tensor->name, trainer_python_tensor_type_name(tensor->type),
                         shape, (unsigned long long)tensor->below,
                         (unsigned long long)tensor->below_before);
}

static PyObject *client_tensors(PyObject *self, PyObject *none)
{
    const struct weir_client_tensor *tensors;
    struct counted_client *counted = enter(self);

    (void)none;
    if (counted == NULL)
        return NULL;
    size_t count = weir_client_tensors(counted->client, &tensors);
    PyObject *list = PyList_New(0);
    for (size_t i = 0; i < count && list != NULL; i++) {
        PyObject *tensor = announced(&tensors[i]);
        if (tensor == NULL || PyList_Append(list, tensor) < 0)
            Py_CLEAR(list);
        Py_XDECREF(tensor);
    }
    leave(self, counted);
    return list;
}

/* ---- state and end ---- */

static PyObject *client_state(PyObject *self, PyObject *none)
{
    struct weir_client_error error;
    const void *state = NULL;
    size_t size = 0;
    struct counted_client *counted = enter(self);

    (void)none;
    if (counted == NULL)
        return NULL;
    enum weir_client_status status;
    Py_BEGIN_ALLOW_THREADS status = weir_client_state(counted->client, &state, &size, &error);
    Py_END_ALLOW_THREADS PyObject *bytes = status == WEIR_CLIENT_OK
                                               ? PyBytes_FromStringAndSize(state, (Py_ssize_t)size)
                                               : outcome(self, status, &error);
    leave(self, counted);
    return bytes;
}

static PyObject *client_commit(PyObject *self, PyObject *arguments)
{
    struct weir_client_error error;
    const char *state;
    Py_ssize_t size;
    long long timeout_ms;

    if (!PyArg_ParseTuple(arguments, "y#L:commit", &state, &size, &timeout_ms))
        return NULL;
    for (int64_t end_ms = trainer_python_wait_end(timeout_ms);;) {
        int64_t slice_ms = trainer_python_wait_slice(end_ms);
        struct counted_client *counted = enter(self);
        if (counted == NULL)
            return NULL;
        enum weir_client_status status;
        Py_BEGIN_ALLOW_THREADS status =
            weir_client_commit(counted->client, state, (size_t)size, 0, slice_ms, &error);
        Py_END_ALLOW_THREADS leave(self, counted);
        if (status != WEIR_CLIENT_TIMEOUT || trainer_python_wait_slice(end_ms) == 0)
            return outcome(self, status, &error);
        if (PyErr_CheckSignals() < 0)
            return NULL;
    }
}

/* Interrupted, it goes on without the session, which is closed then. */
static PyObject *client_finish(PyObject *self, PyObject *arguments)
{
    const char *model;
    double loss;

    if (!PyArg_ParseTuple(arguments, "zd:finish", &model, &loss))
        return NULL;
    struct counted_client *counted = enter(self);
    if (counted == NULL)
        return NULL;
    struct errand *errand = trainer_python_errand_finish(counted, model, loss);
    enum py_wait end = trainer_python_errand_run(trainer_python_module_of(self), errand);
    leave(self, counted);
    trainer_python_errand_drop(errand);
    if (end == PY_WAIT_INTERRUPTED) {
        trainer_python_client_drop(((struct py_client *)self)->counted);
        ((struct py_client *)self)->counted = NULL;
    }
    if (end != PY_WAIT_OK)
        return NULL;
    Py_RETURN_NONE;
}

/* ---- what is looked at ---- */

static PyObject *client_metric(PyObject *self, PyObject *arguments)
{
    struct weir_client_error error;
    const char *name;
    double value;

    if (!PyArg_ParseTuple(arguments, "sd:metric", &name, &value))
        return NULL;
    struct counted_client *counted = enter(self);
    if (counted == NULL)
        return NULL;
    enum weir_client_status status = weir_client_metric(counted->client, name, value, &error);
    leave(self, counted);
    return outcome(self, status, &error);
}

static PyObject *flag(PyObject *self, int (*asked)(struct weir_client *client))
{
    struct counted_client *counted = enter(self);

    if (counted == NULL)
        return NULL;
    int is_set = asked(counted->client);
    leave(self, counted);
    return PyBool_FromLong(is_set);
}

static PyObject *client_stopping(PyObject *self, PyObject *none)
{
    (void)none;
    return flag(self, weir_client_stopping);
}

static PyObject *client_restarting(PyObject *self, PyObject *none)
{
    (void)none;
    return flag(self, weir_client_restarting);
}

static PyObject *client_info(PyObject *self, PyObject *none)
{
    struct weir_client_info info;
    double mean, deviation;
    struct counted_client *counted = enter(self);

    (void)none;
    if (counted == NULL)
        return NULL;
    weir_client_info(counted->client, &info);
    weir_client_label_scale(counted->client, &mean, &deviation);
    leave(self, counted);
    return Py_BuildValue(
        "{s:K,s:K,s:I,s:I,s:K,s:K,s:K,s:I,s:N,s:y#,s:d,s:d}", "run", (unsigned long long)info.run,
        "attempt", (unsigned long long)info.attempt, "rank", info.rank, "ranks", info.ranks,
        "samples", (unsigned long long)info.samples, "epochs", (unsigned long long)info.epochs,
        "batches_per_epoch", (unsigned long long)info.batches_per_epoch, "batch_samples",
        info.batch_samples, "is_deterministic", PyBool_FromLong(info.is_deterministic), "fitted",
        info.fitted, (Py_ssize_t)info.fitted_size, "label_mean", mean, "label_deviation",
        deviation);
}

static PyObject *client_stats(PyObject *self, PyObject *none)
{
    struct weir_client_stats stats;
    struct counted_client *counted = enter(self);

    (void)none;
    if (counted == NULL)
        return NULL;
    weir_client_stats(counted->client, &stats);
    leave(self, counted);
    return Py_BuildValue(
        "{s:K,s:K,s:K,s:L,s:L,s:K,s:K,s:K,s:K,s:s,s:L}", "batches",
        (unsigned long long)stats.batches, "samples", (unsigned long long)stats.samples, "bytes",
        (unsigned long long)stats.bytes, "wait_ns", (long long)stats.wait_ns, "busy_ns",
        (long long)stats.busy_ns, "waiting", (unsigned long long)stats.waiting, "refused",
        (unsigned long long)stats.refused, "common", (unsigned long long)stats.common, "digests",
        (unsigned long long)stats.digests, "digest", stats.digest, "digest_ns",
        (long long)stats.digest_ns);
}

static PyObject *client_holes(PyObject *self, PyObject *none)
{
    struct weir_client_holes holes;
    struct counted_client *counted = enter(self);

    (void)none;
    if (counted == NULL)
        return NULL;
    weir_client_holes(counted->client, &holes);
    leave(self, counted);
    return Py_BuildValue("{s:K,s:K,s:K,s:K}", "erased", (unsigned long long)holes.erased, "gone",
                         (unsigned long long)holes.gone, "filtered",
                         (unsigned long long)holes.filtered, "failed",
                         (unsigned long long)holes.failed);
}

/* ---- the type ---- */

static PyMethodDef METHODS[] = {
    {"next", client_next, METH_VARARGS,
     "next($self, timeout_ms, /)\n--\n\nweir_client_next(); None: END."},
    {"consumed", client_consumed, METH_VARARGS,
     "consumed($self, number, /)\n--\n\nweir_client_consumed()."},
    {"output", client_output, METH_VARARGS,
     "output($self, batch, kind, values, /)\n--\n\nweir_client_output()."},
    {"output_names", client_output_names, METH_VARARGS,
     "output_names($self, names, /)\n--\n\nweir_client_output_names()."},
    {"tensors", client_tensors, METH_NOARGS, "tensors($self, /)\n--\n\nweir_client_tensors()."},
    {"element_name", client_element_name, METH_VARARGS,
     "element_name($self, tensor, index, /)\n--\n\nweir_client_element_name()."},
    {"state", client_state, METH_NOARGS, "state($self, /)\n--\n\nweir_client_state()."},
    {"commit", client_commit, METH_VARARGS,
     "commit($self, state, timeout_ms, /)\n--\n\nweir_client_commit()."},
    {"finish", client_finish, METH_VARARGS,
     "finish($self, model, loss, /)\n--\n\nweir_client_finish()."},
    {"metric", client_metric, METH_VARARGS,
     "metric($self, name, value, /)\n--\n\nweir_client_metric()."},
    {"stopping", client_stopping, METH_NOARGS, "stopping($self, /)\n--\n\nweir_client_stopping()."},
    {"restarting", client_restarting, METH_NOARGS,
     "restarting($self, /)\n--\n\nweir_client_restarting()."},
    {"info", client_info, METH_NOARGS, "info($self, /)\n--\n\nweir_client_info()."},
    {"stats", client_stats, METH_NOARGS, "stats($self, /)\n--\n\nweir_client_stats()."},
    {"holes", client_holes, METH_NOARGS, "holes($self, /)\n--\n\nweir_client_holes()."},
    {"close", client_close, METH_NOARGS, "close($self, /)\n--\n\nweir_client_close()."},
    {"__reduce__", trainer_python_refuse_pickling, METH_NOARGS, NULL},
    {NULL, NULL, 0, NULL},
};

static char DOC[] = "An open run: the calls of weir/client.h.\n\n"
                    "Client(capsule, socket_dir, timeout_ms, state, rank, ranks, prefetch_bytes)";

static PyType_Slot SLOTS[] = {
    {Py_tp_doc, DOC},
    {Py_tp_new, client_new},
    {Py_tp_dealloc, client_dealloc},
    {Py_tp_methods, METHODS},
    {0, NULL},
};

PyType_Spec trainer_python_client_spec = {
    .name = "weir._weir.Client",
    .basicsize = sizeof(struct py_client),
    .flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_IMMUTABLETYPE,
    .slots = SLOTS,
};
