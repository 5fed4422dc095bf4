/* A Batch holds its memory until it is released, or gone. */
#include "trainer_client/python/py_batch.h"

#include "trainer_client/python/py_tensor.h"

PyObject *trainer_python_batch_object(const struct py_module *module, struct counted_client *client,
                                      struct weir_batch *batch)
{
    allocfunc alloc = (allocfunc)PyType_GetSlot(module->batch_type, Py_tp_alloc);
    struct py_batch *made = (struct py_batch *)alloc(module->batch_type, 0);

    if (made == NULL) {
        weir_batch_release(batch);
        return NULL;
    }
    made->number = batch->number;
    made->counted = trainer_python_batch_new(client, batch);
    return (PyObject *)made;
}

static void batch_dealloc(PyObject *self)
{
    struct py_batch *batch = (struct py_batch *)self;
    PyTypeObject *type = Py_TYPE(self);
    freefunc free_self = (freefunc)PyType_GetSlot(type, Py_tp_free);

    if (batch->counted != NULL)
        trainer_python_batch_drop(batch->counted);
    free_self(self);
    Py_DECREF(type);
}

static const struct weir_batch *shown(PyObject *self)
{
    struct counted_batch *counted = trainer_python_batch_of((struct py_batch *)self);

    return counted != NULL ? counted->batch : NULL;
}

static PyObject *batch_release(PyObject *self, PyObject *none)
{
    struct py_batch *batch = (struct py_batch *)self;
    struct counted_batch *counted = batch->counted;

    (void)none;
    if (counted == NULL)
        return Py_NewRef(Py_True); /* said before */
    if (trainer_python_batch_of(batch) == NULL)
        return NULL;
    batch->counted = NULL;
    return PyBool_FromLong(trainer_python_batch_drop(counted));
}

/* ---- numbers ---- */

static PyObject *get_number(PyObject *self, void *closure)
{
    (void)closure;
    return PyLong_FromUnsignedLongLong(((struct py_batch *)self)->number);
}

static PyObject *get_epoch(PyObject *self, void *closure)
{
    const struct weir_batch *batch = shown(self);

    (void)closure;
    return batch != NULL ? PyLong_FromUnsignedLongLong(batch->epoch) : NULL;
}

static PyObject *get_samples(PyObject *self, void *closure)
{
    const struct weir_batch *batch = shown(self);

    (void)closure;
    return batch != NULL ? PyLong_FromSize_t(batch->samples) : NULL;
}

static PyObject *get_holes(PyObject *self, void *closure)
{
    const struct weir_batch *batch = shown(self);

    (void)closure;
    return batch != NULL ? PyLong_FromSize_t(batch->holes) : NULL;
}

static PyObject *get_global_samples(PyObject *self, void *closure)
{
    const struct weir_batch *batch = shown(self);

    (void)closure;
    return batch != NULL ? PyLong_FromUnsignedLongLong(batch->global_samples) : NULL;
}

static PyObject *get_global_weight(PyObject *self, void *closure)
{
    const struct weir_batch *batch = shown(self);

    (void)closure;
    return batch != NULL ? PyFloat_FromDouble(batch->global_weight) : NULL;
}

static PyObject *get_global_longest(PyObject *self, void *closure)
{
    const struct weir_batch *batch = shown(self);

    (void)closure;
    return batch != NULL ? PyLong_FromUnsignedLongLong(batch->global_longest) : NULL;
}

static PyObject *get_released(PyObject *self, void *closure)
{
    (void)closure;
    return PyBool_FromLong(((struct py_batch *)self)->counted == NULL);
}

static Py_ssize_t batch_length(PyObject *self)
{
    const struct weir_batch *batch = shown(self);

    return batch != NULL ? (Py_ssize_t)batch->samples : -1;
}

/* ---- arrays ---- */

static PyObject *list(PyObject *self, const char *name, enum weir_tensor_type type, size_t count,
                      const void *data)
{
    struct py_array array = {
        .name = name, .type = type, .rank = 1, .shape = {(int64_t)count}, .data = data};

    return trainer_python_tensor_new((struct py_batch *)self, &array, NULL);
}

/* An element a sample. */
static PyObject *column(PyObject *self, const char *name, enum weir_tensor_type type,
                        const void *data)
{
    const struct py_batch *batch = (struct py_batch *)self;

    return list(self, name, type, batch->counted->batch->samples, data);
}

static PyObject *get_ids(PyObject *self, void *closure)
{
    const struct weir_batch *batch = shown(self);

    (void)closure;
    return batch != NULL ? column(self, "ids", WEIR_TENSOR_I64, batch->ids) : NULL;
}

static PyObject *get_weights(PyObject *self, void *closure)
{
    const struct weir_batch *batch = shown(self);

    (void)closure;
    return batch != NULL ? column(self, "weights", WEIR_TENSOR_F32, batch->weights) : NULL;
}

static PyObject *get_hole_ids(PyObject *self, void *closure)
{
    const struct weir_batch *batch = shown(self);

    (void)closure;
    return batch != NULL ? list(self, "hole_ids", WEIR_TENSOR_I64, batch->holes, batch->hole_ids)
                         : NULL;
}

static PyObject *get_hole_kinds(PyObject *self, void *closure)
{
    const struct weir_batch *batch = shown(self);

    (void)closure;
    return batch != NULL
               ? list(self, "hole_kinds", WEIR_TENSOR_U32, batch->holes, batch->hole_kinds)
               : NULL;
}

static PyObject *get_digest(PyObject *self, void *closure)
{
    const struct weir_batch *batch = shown(self);

    (void)closure;
    if (batch == NULL)
        return NULL;
    return batch->digest != NULL ? PyUnicode_FromString(batch->digest) : Py_NewRef(Py_None);
}

static PyObject *vectors(PyObject *self, const struct weir_batch *batch)
{
    struct py_array array = {.name = "labels",
                             .type = WEIR_TENSOR_F32,
                             .rank = 2,
                             .shape = {(int64_t)batch->samples, (int64_t)batch->label_width},
                             .data = batch->label_values};

    return trainer_python_tensor_new((struct py_batch *)self, &array, NULL);
}

static PyObject *get_labels(PyObject *self, void *closure)
{
    const struct weir_batch *batch = shown(self);

    (void)closure;
    if (batch == NULL)
        return NULL;
    switch (batch->label_type) {
    case WEIR_LABELS_NONE:
        return Py_NewRef(Py_None);
    case WEIR_LABELS_VALUES:
        return vectors(self, batch);
    case WEIR_LABELS_FLOAT:
        return column(self, "labels", WEIR_TENSOR_F64, batch->labels);
    default:
        return column(self, "labels", WEIR_TENSOR_I64, batch->labels);
    }
}

/* Of a ragged tensor the first extent is that of its values. */
static PyObject *tensor_at(PyObject *self, struct counted_batch *counted, size_t index)
{
    const struct weir_tensor *tensor = &counted->batch->tensors[index];
    struct py_array array = {.name = tensor->name,
                             .type = tensor->type,
                             .rank = (int)tensor->rank,
                             .data = tensor->data};
    PyObject *offsets = NULL;

    for (uint32_t i = 0; i < tensor->rank; i++)
        array.shape[i] = (int64_t)tensor->shape[i];
    if (tensor->offsets != NULL) {
        struct py_array wide = {.name = "offsets", .type = WEIR_TENSOR_I64, .rank = 1};
        array.shape[0] = tensor->offsets[counted->batch->samples];
        wide.shape[0] = (int64_t)counted->batch->samples + 1;
        wide.data = trainer_python_batch_offsets(counted, index);
        offsets = trainer_python_tensor_new((struct py_batch *)self, &wide, NULL);
        if (offsets == NULL)
            return NULL;
    }
    return trainer_python_tensor_new((struct py_batch *)self, &array, offsets);
}

static PyObject *get_tensors(PyObject *self, void *closure)
{
    struct counted_batch *counted = trainer_python_batch_of((struct py_batch *)self);
    PyObject *tensors = counted != NULL ? PyDict_New() : NULL;

    (void)closure;
    for (size_t i = 0; tensors != NULL && i < counted->batch->tensor_count; i++) {
        PyObject *tensor = tensor_at(self, counted, i);
        if (tensor == NULL ||
            PyDict_SetItemString(tensors, counted->batch->tensors[i].name, tensor) < 0)
            Py_CLEAR(tensors);
        Py_XDECREF(tensor);
    }
    return tensors;
}

static PyObject *batch_repr(PyObject *self)
{
    const struct py_batch *batch = (struct py_batch *)self;

    if (batch->counted == NULL)
        return PyUnicode_FromFormat("<weir.Batch %llu released>",
                                    (unsigned long long)batch->number);
    return PyUnicode_FromFormat("<weir.Batch %llu of %zu samples>",
                                (unsigned long long)batch->number, batch->counted->batch->samples);
}

/* ---- the type ---- */

static PyMethodDef METHODS[] = {
    {"release", batch_release, METH_NOARGS,
     "release($self, /)\n--\n\n"
     "Say that nobody looks at the batch again: its memory goes back, and erasures may go on.\n\n"
     "Return False while views of it are alive: its memory goes back with the last of them."},
    {"__reduce__", trainer_python_refuse_pickling, METH_NOARGS, NULL},
    {NULL, NULL, 0, NULL},
};

static PyGetSetDef ATTRIBUTES[] = {
    {"number", get_number, NULL, "Number of the batch, counted over all epochs from 0.", NULL},
    {"epoch", get_epoch, NULL, "Pass over the set, from 0.", NULL},
    {"samples", get_samples, NULL, "Live samples; len() is the same.", NULL},
    {"holes", get_holes, NULL,
     "Samples of the batch that were erased, filtered, unreadable or gone.", NULL},
    {"global_samples", get_global_samples, NULL,
     "Live samples of this batch over all ranks: `samples` of each, added up.", NULL},
    {"global_weight", get_global_weight, NULL,
     "Weights of this batch over all ranks, added up; the same on each.", NULL},
    {"global_longest", get_global_longest, NULL,
     "Elements of the longest row of its ragged tensors over all ranks; 0 without any.", NULL},
    {"ids", get_ids, NULL, "Ids of the samples, int64.", NULL},
    {"labels", get_labels, NULL,
     "Labels: int64 (a number, or an index into Task.classes), float64, or float32 vectors.\n"
     "None: the samples have none.",
     NULL},
    {"weights", get_weights, NULL, "Weights of the selection, float32; 1 when it gave none.", NULL},
    {"tensors", get_tensors, NULL, "The tensors by name: a new dict each time.", NULL},
    {"hole_ids", get_hole_ids, NULL, "Ids of the samples that are not there, int64.", NULL},
    {"hole_kinds", get_hole_kinds, NULL,
     "Why each of them is not, uint32: 1 erased, 2 gone, 3 filtered, 4 failed.", NULL},
    {"digest", get_digest, NULL,
     "Digest of all of this but the global numbers, in hexadecimal. None: not asked for.", NULL},
    {"released", get_released, NULL, "True after release().", NULL},
    {NULL, NULL, NULL, NULL, NULL},
};

static char DOC[] =
    "One batch of a session. Its memory lives until it, and all views of it, are gone,\n"
    "or until release(). It is read-only.";

static PyType_Slot SLOTS[] = {
    {Py_tp_doc, DOC},
    {Py_tp_dealloc, batch_dealloc},
    {Py_tp_methods, METHODS},
    {Py_tp_getset, ATTRIBUTES},
    {Py_tp_repr, batch_repr},
    {Py_sq_length, batch_length},
    {0, NULL},
};

PyType_Spec trainer_python_batch_spec = {
    .name = "weir.Batch",
    .basicsize = sizeof(struct py_batch),
    .flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_DISALLOW_INSTANTIATION | Py_TPFLAGS_IMMUTABLETYPE,
    .slots = SLOTS,
};
