/* Tensors for other frameworks; see the header. */
#include "trainer_client/python/dlpack.h"

#include "core/base/memory.h"

#include <stdlib.h>

/* Either form, with what it points to. */
struct holder {
    union {
        struct dlpack_managed plain;
        struct dlpack_versioned versioned;
    } as;
    struct counted_batch *batch;
    int64_t shape[WEIR_TENSOR_RANK_MAX], strides[WEIR_TENSOR_RANK_MAX];
};

static void drop(void *owner)
{
    struct holder *holder = owner;

    trainer_python_batch_drop(holder->batch);
    free(holder);
}

static void delete_plain(struct dlpack_managed *managed)
{
    drop(managed->owner);
}

static void delete_versioned(struct dlpack_versioned *managed)
{
    drop(managed->owner);
}

static struct holder *make(struct counted_batch *batch, int rank, const int64_t *shape)
{
    struct holder *holder = weir_calloc(1, sizeof(*holder));
    int64_t stride = 1;

    holder->batch = trainer_python_batch_hold(batch);
    for (int i = rank - 1; i >= 0; i--) {
        holder->shape[i] = shape[i];
        holder->strides[i] = stride;
        stride *= shape[i];
    }
    return holder;
}

/* DLPack knows no pointer to constant data: who writes to it breaks the rule of weir/client.h. */
static struct dlpack_tensor describe(struct holder *holder, const void *data,
                                     struct dlpack_type type, int rank)
{
    return (struct dlpack_tensor){
        .data = (void *)(uintptr_t)data,
        .device = {DLPACK_CPU, 0},
        .rank = rank,
        .type = type,
        .shape = holder->shape,
        .strides = holder->strides,
    };
}

struct dlpack_managed *trainer_python_dlpack_new(struct counted_batch *batch, const void *data,
                                                 struct dlpack_type type, int rank,
                                                 const int64_t *shape)
{
    struct holder *holder = make(batch, rank, shape);

    holder->as.plain.tensor = describe(holder, data, type, rank);
    holder->as.plain.owner = holder;
    holder->as.plain.deleter = delete_plain;
    return &holder->as.plain;
}

struct dlpack_versioned *trainer_python_dlpack_new_versioned(struct counted_batch *batch,
                                                             const void *data,
                                                             struct dlpack_type type, int rank,
                                                             const int64_t *shape)
{
    struct holder *holder = make(batch, rank, shape);

    holder->as.versioned.major = DLPACK_MAJOR;
    holder->as.versioned.owner = holder;
    holder->as.versioned.deleter = delete_versioned;
    holder->as.versioned.flags = DLPACK_READ_ONLY;
    holder->as.versioned.tensor = describe(holder, data, type, rank);
    return &holder->as.versioned;
}
