/* A Tensor points into its batch and holds the Python object of it; each view of its memory holds the memory itself. */
#include "trainer_client/python/py_tensor.h"

#include "trainer_client/python/dlpack.h"

#include <string.h>

struct py_tensor {
    PyObject ob_base;
    struct py_batch *batch;
    PyObject *offsets; /* NULL: dense */
    PyObject *name;
    struct py_array array;
    const struct element *element;
    Py_ssize_t bytes, shape[WEIR_TENSOR_RANK_MAX], strides[WEIR_TENSOR_RANK_MAX];
};

static const struct element {
    const char *name;
    char format[2];
    uint8_t bytes, code;
} ELEMENTS[] = {
    [WEIR_TENSOR_U8] = {"uint8", "B", 1, DLPACK_UINT},
    [WEIR_TENSOR_I32] = {"int32", "i", 4, DLPACK_INT},
    [WEIR_TENSOR_I64] = {"int64", "q", 8, DLPACK_INT},
    [WEIR_TENSOR_F32] = {"float32", "f", 4, DLPACK_FLOAT},
    [WEIR_TENSOR_F64] = {"float64", "d", 8, DLPACK_FLOAT},
    [WEIR_TENSOR_U32] = {"uint32", "I", 4, DLPACK_UINT},
};

static const char NOTHING[WEIR_BATCH_ALIGNMENT]; /* where an empty array lies */

struct counted_batch *trainer_python_batch_of(struct py_batch *batch)
{
    struct py_module *module = trainer_python_module_of((PyObject *)batch);

    if (batch->counted == NULL) {
        trainer_python_fail(module, WEIR_CLIENT_INVALID,
                            "batch %llu was released: look at it before that",
                            (unsigned long long)batch->number);
        return NULL;
    }
    if (!trainer_python_client_is_ours(batch->counted->client)) {
        trainer_python_fail_forked(module, (long)batch->counted->client->owner);
        return NULL;
    }
    return batch->counted;
}

const char *trainer_python_tensor_type_name(enum weir_tensor_type type)
{
    return ELEMENTS[type].name;
}

PyObject *trainer_python_tensor_new(struct py_batch *batch, const struct py_array *array,
                                    PyObject *offsets)
{
    PyTypeObject *type = trainer_python_module_of((PyObject *)batch)->tensor_type;
    allocfunc alloc = (allocfunc)PyType_GetSlot(type, Py_tp_alloc);
    struct py_tensor *tensor = (struct py_tensor *)alloc(type, 0);

    if (tensor == NULL) {
        Py_XDECREF(offsets);
        return NULL;
    }
    tensor->batch = (struct py_batch *)Py_NewRef((PyObject *)batch);
    tensor->offsets = offsets;
    tensor->array = *array;
    tensor->element = &ELEMENTS[array->type];
    tensor->bytes = tensor->element->bytes;
    for (int i = array->rank - 1; i >= 0; i--) {
        tensor->shape[i] = (Py_ssize_t)array->shape[i];
        tensor->strides[i] = tensor->bytes;
        tensor->bytes *= tensor->shape[i];
    }
    if (array->data == NULL || tensor->bytes == 0)
        tensor->array.data = NOTHING;
    tensor->name = PyUnicode_DecodeUTF8(array->name, (Py_ssize_t)strlen(array->name), "replace");
    if (tensor->name == NULL)
        Py_CLEAR(tensor);
    return (PyObject *)tensor;
}

static void tensor_dealloc(PyObject *self)
{
    struct py_tensor *tensor = (struct py_tensor *)self;
    PyTypeObject *type = Py_TYPE(self);
    freefunc free_self = (freefunc)PyType_GetSlot(type, Py_tp_free);

    Py_XDECREF((PyObject *)tensor->batch);
    Py_XDECREF(tensor->offsets);
    Py_XDECREF(tensor->name);
    free_self(self);
    Py_DECREF(type);
}

/* ---- buffer protocol ---- */

static int refuse_buffer(Py_buffer *view, const char *why)
{
    view->obj = NULL;
    PyErr_SetString(PyExc_BufferError, why);
    return -1;
}

static int tensor_getbuffer(PyObject *self, Py_buffer *view, int flags)
{
    struct py_tensor *tensor = (struct py_tensor *)self;
    struct counted_batch *counted = trainer_python_batch_of(tensor->batch);

    view->obj = NULL;
    if (counted == NULL)
        return -1;
    if ((flags & PyBUF_WRITABLE) != 0)
        return refuse_buffer(view, "the memory of a batch is read-only: make a copy");
    if ((flags & PyBUF_F_CONTIGUOUS) == PyBUF_F_CONTIGUOUS && tensor->array.rank > 1)
        return refuse_buffer(view, "the tensors of a batch are row-major");
    memset(view, 0, sizeof(*view));
    view->obj = Py_NewRef(self);
    view->buf = (void *)(uintptr_t)tensor->array.data;
    view->len = tensor->bytes;
    view->readonly = 1;
    view->itemsize = tensor->element->bytes;
    view->ndim = tensor->array.rank;
    view->format = (flags & PyBUF_FORMAT) != 0 ? (char *)(uintptr_t)tensor->element->format : NULL;
    view->shape = (flags & PyBUF_ND) != 0 ? tensor->shape : NULL;
    view->strides = (flags & PyBUF_STRIDES) == PyBUF_STRIDES ? tensor->strides : NULL;
    view->internal = trainer_python_batch_hold(counted);
    return 0;
}

static void tensor_releasebuffer(PyObject *self, Py_buffer *view)
{
    (void)self;
    trainer_python_batch_drop(view->internal);
}

/* ---- DLPack ---- */

/* A capsule that nobody has taken. */
static void drop_plain(PyObject *capsule)
{
    struct dlpack_managed *managed =
        PyCapsule_IsValid(capsule, "dltensor") ? PyCapsule_GetPointer(capsule, "dltensor") : NULL;
    if (managed != NULL)
        managed->deleter(managed);
}

static void drop_versioned(PyObject *capsule)
{
    struct dlpack_versioned *managed = PyCapsule_IsValid(capsule, "dltensor_versioned")
                                           ? PyCapsule_GetPointer(capsule, "dltensor_versioned")
                                           : NULL;
    if (managed != NULL)
        managed->deleter(managed);
}

static PyObject *make_capsule(struct py_tensor *tensor, struct counted_batch *counted,
                              int is_versioned)
{
    const struct py_array *array = &tensor->array;
    struct dlpack_type type = {tensor->element->code, (uint8_t)(8 * tensor->element->bytes), 1};
    PyObject *capsule;

    if (is_versioned) {
        struct dlpack_versioned *made = trainer_python_dlpack_new_versioned(
            counted, array->data, type, array->rank, array->shape);
        capsule = PyCapsule_New(made, "dltensor_versioned", drop_versioned);
        if (capsule == NULL)
            made->deleter(made);
        return capsule;
    }
    struct dlpack_managed *made =
        trainer_python_dlpack_new(counted, array->data, type, array->rank, array->shape);
    capsule = PyCapsule_New(made, "dltensor", drop_plain);
    if (capsule == NULL)
        made->deleter(made);
    return capsule;
}

/* 1: nothing but the CPU is asked for. -1: an exception is set. */
static int is_for_cpu(PyObject *device)
{
    int type = DLPACK_CPU, id = 0;

    if (device != Py_None && !PyArg_ParseTuple(device, "ii", &type, &id))
        return -1;
    return type == DLPACK_CPU && id == 0;
}

static PyObject *tensor_dlpack(PyObject *self, PyObject *arguments, PyObject *keywords)
{
    static char names[][12] = {"stream", "max_version", "dl_device", "copy"};
    static char *keys[] = {names[0], names[1], names[2], names[3], NULL};
    struct py_tensor *tensor = (struct py_tensor *)self;
    PyObject *stream = Py_None, *version = Py_None, *device = Py_None, *copy = Py_None;
    int major = 0, minor = 0;

    if (!PyArg_ParseTupleAndKeywords(arguments, keywords, "|$OOOO:__dlpack__", keys, &stream,
                                     &version, &device, &copy))
        return NULL;
    struct counted_batch *counted = trainer_python_batch_of(tensor->batch);
    int for_cpu = counted != NULL ? is_for_cpu(device) : -1;
    if (for_cpu < 0 || (version != Py_None && !PyArg_ParseTuple(version, "ii", &major, &minor)))
        return NULL;
    if (stream != Py_None || for_cpu == 0 || copy == Py_True) {
        PyErr_SetString(PyExc_BufferError,
                        "a batch lies in the memory of the CPU and is not copied: stream and "
                        "copy must be None, dl_device (1, 0)");
        return NULL;
    }
    return make_capsule(tensor, counted, major >= DLPACK_MAJOR);
}

static PyObject *tensor_dlpack_device(PyObject *self, PyObject *none)
{
    (void)self;
    (void)none;
    return Py_BuildValue("(ii)", DLPACK_CPU, 0);
}

/* ---- attributes ---- */

static PyObject *get_name(PyObject *self, void *closure)
{
    (void)closure;
    return Py_NewRef(((struct py_tensor *)self)->name);
}

static PyObject *get_dtype(PyObject *self, void *closure)
{
    (void)closure;
    return PyUnicode_FromString(((struct py_tensor *)self)->element->name);
}

static PyObject *get_shape(PyObject *self, void *closure)
{
    const struct py_tensor *tensor = (struct py_tensor *)self;
    PyObject *shape = PyTuple_New(tensor->array.rank);

    (void)closure;
    for (int i = 0; shape != NULL && i < tensor->array.rank; i++) {
        PyObject *extent = PyLong_FromSsize_t(tensor->shape[i]);
        if (extent == NULL || PyTuple_SetItem(shape, i, extent) < 0)
            Py_CLEAR(shape);
    }
    return shape;
}

static PyObject *get_nbytes(PyObject *self, void *closure)
{
    (void)closure;
    return PyLong_FromSsize_t(((struct py_tensor *)self)->bytes);
}

static PyObject *get_offsets(PyObject *self, void *closure)
{
    PyObject *offsets = ((struct py_tensor *)self)->offsets;

    (void)closure;
    return Py_NewRef(offsets != NULL ? offsets : Py_None);
}

static Py_ssize_t tensor_length(PyObject *self)
{
    return ((struct py_tensor *)self)->shape[0];
}

static PyObject *tensor_repr(PyObject *self)
{
    const struct py_tensor *tensor = (struct py_tensor *)self;
    PyObject *shape = get_shape(self, NULL);
    PyObject *text = shape == NULL ? NULL
                                   : PyUnicode_FromFormat("<weir.Tensor %U %s %R%s>", tensor->name,
                                                          tensor->element->name, shape,
                                                          tensor->offsets != NULL ? " ragged" : "");
    Py_XDECREF(shape);
    return text;
}

static PyMethodDef METHODS[] = {
    {"__dlpack__", (PyCFunction)(void (*)(void))tensor_dlpack, METH_VARARGS | METH_KEYWORDS,
     "__dlpack__($self, *, stream=None, max_version=None, dl_device=None, copy=None)\n--\n\n"
     "Return a DLPack capsule of the same memory; it must not be written to."},
    {"__dlpack_device__", tensor_dlpack_device, METH_NOARGS,
     "__dlpack_device__($self, /)\n--\n\nReturn (1, 0): the memory of the CPU."},
    {"__reduce__", trainer_python_refuse_pickling, METH_NOARGS, NULL},
    {NULL, NULL, 0, NULL},
};

static PyGetSetDef ATTRIBUTES[] = {
    {"name", get_name, NULL, "Name of the tensor.", NULL},
    {"dtype", get_dtype, NULL, "Type of its elements, as NumPy calls it.", NULL},
    {"shape", get_shape, NULL,
     "Extents of the array that it shows; of a ragged one, of all values.", NULL},
    {"nbytes", get_nbytes, NULL, "Bytes of it.", NULL},
    {"offsets", get_offsets, NULL,
     "Of a ragged tensor: samples + 1 int64; sample i owns the rows offsets[i] to offsets[i + 1].\n"
     "None: dense, and row i is sample i.",
     NULL},
    {NULL, NULL, NULL, NULL, NULL},
};

static char DOC[] =
    "One array of a batch, read-only and without a copy.\n\n"
    "numpy.asarray(), memoryview() and torch.from_dlpack() take it as it is. A view keeps\n"
    "the memory of the batch.";

static PyType_Slot SLOTS[] = {
    {Py_tp_doc, DOC},
    {Py_tp_dealloc, tensor_dealloc},
    {Py_tp_methods, METHODS},
    {Py_tp_getset, ATTRIBUTES},
    {Py_tp_repr, tensor_repr},
    {Py_sq_length, tensor_length},
    {Py_bf_getbuffer, tensor_getbuffer},
    {Py_bf_releasebuffer, tensor_releasebuffer},
    {0, NULL},
};

PyType_Spec trainer_python_tensor_spec = {
    .name = "weir.Tensor",
    .basicsize = sizeof(struct py_tensor),
    .flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_DISALLOW_INSTANTIATION | Py_TPFLAGS_IMMUTABLETYPE,
    .slots = SLOTS,
};
