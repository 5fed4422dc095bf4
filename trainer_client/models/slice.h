/* Consecutive samples of a batch, as a batch: what a thread works on. Tensors, labels and weights stay where they are;
 * of ragged tensors the offsets are written again, from 0. */
#ifndef WEIR_TRAINER_CLIENT_MODELS_SLICE_H
#define WEIR_TRAINER_CLIENT_MODELS_SLICE_H

#include <weir/client.h>

struct slice {
    struct weir_batch batch;
    struct weir_tensor *tensors;
    size_t tensors_max;
    uint32_t *offsets; /* of all ragged tensors, one after the other */
    size_t offsets_max;
};

/* Makes `slice` the samples first … first + count - 1 of the batch, whose life it needs. Zeroed before its first
 * use. */
void trainer_slice_take(struct slice *slice, const struct weir_batch *batch, size_t first,
                        size_t count);
void trainer_slice_fini(struct slice *slice);

#endif
