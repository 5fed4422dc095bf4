/* DLPack (https://dmlc.github.io/dlpack): how frameworks hand tensors to each other. Both of its forms, as
 * far as memory of the CPU needs them. */
#ifndef WEIR_TRAINER_PYTHON_DLPACK_H
#define WEIR_TRAINER_PYTHON_DLPACK_H

#include "trainer_client/python/counted.h"

enum { DLPACK_CPU = 1, DLPACK_READ_ONLY = 1, DLPACK_MAJOR = 1 };
enum dlpack_code { DLPACK_INT = 0, DLPACK_UINT = 1, DLPACK_FLOAT = 2 };

struct dlpack_device {
    int32_t type, id;
};

struct dlpack_type {
    uint8_t code, bits;
    uint16_t lanes;
};

struct dlpack_tensor {
    void *data;
    struct dlpack_device device;
    int32_t rank;
    struct dlpack_type type;
    int64_t *shape, *strides;
    uint64_t byte_offset;
};

/* In a capsule called "dltensor". */
struct dlpack_managed {
    struct dlpack_tensor tensor;
    void *owner;
    void (*deleter)(struct dlpack_managed *managed);
};

/* In a capsule called "dltensor_versioned"; consumers that know it ask for it. */
struct dlpack_versioned {
    uint32_t major, minor;
    void *owner;
    void (*deleter)(struct dlpack_versioned *managed);
    uint64_t flags;
    struct dlpack_tensor tensor;
};

/* A tensor that holds `batch` until its deleter is called, by anybody, on any thread. `shape` is copied. */
struct dlpack_managed *trainer_python_dlpack_new(struct counted_batch *batch, const void *data,
                                                 struct dlpack_type type, int rank,
                                                 const int64_t *shape);
struct dlpack_versioned *trainer_python_dlpack_new_versioned(struct counted_batch *batch,
                                                             const void *data,
                                                             struct dlpack_type type, int rank,
                                                             const int64_t *shape);

#endif
