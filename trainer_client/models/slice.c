/* A slice of a batch: see slice.h. */
#include "trainer_client/models/slice.h"

#include "core/base/memory.h"
#include "trainer_client/models/tensors.h"

#include <stdlib.h>

static void take_tensor(struct weir_tensor *tensor, uint32_t *offsets, size_t first, size_t count)
{
    size_t from = first, rows = count;
    if (tensor->offsets != NULL) {
        from = tensor->offsets[first];
        rows = tensor->offsets[first + count] - from;
        for (size_t i = 0; i <= count; i++)
            offsets[i] = tensor->offsets[first + i] - (uint32_t)from;
        tensor->offsets = offsets;
    }
    tensor->shape[0] = count;
    tensor->data = (const uint8_t *)tensor->data + from * trainer_tensors_row_bytes(tensor);
    tensor->bytes = rows * trainer_tensors_row_bytes(tensor);
}

static void make_room(struct slice *slice, size_t tensors, size_t offsets)
{
    if (tensors > slice->tensors_max) {
        slice->tensors_max = tensors;
        slice->tensors = weir_realloc(slice->tensors, tensors, sizeof(*slice->tensors));
    }
    if (offsets > slice->offsets_max) {
        slice->offsets_max = offsets;
        slice->offsets = weir_realloc(slice->offsets, offsets, sizeof(*slice->offsets));
    }
}

void trainer_slice_take(struct slice *slice, const struct weir_batch *batch, size_t first,
                        size_t count)
{
    make_room(slice, batch->tensor_count, batch->tensor_count * (count + 1));
    for (size_t i = 0; i < batch->tensor_count; i++) {
        slice->tensors[i] = batch->tensors[i];
        take_tensor(&slice->tensors[i], slice->offsets + i * (count + 1), first, count);
    }
    slice->batch = *batch;
    slice->batch.samples = count;
    slice->batch.ids += first;
    slice->batch.labels += first;
    slice->batch.weights += first;
    slice->batch.tensors = slice->tensors;
    if (batch->label_values != NULL)
        slice->batch.label_values += first * batch->label_width;
}

void trainer_slice_fini(struct slice *slice)
{
    free(slice->tensors);
    free(slice->offsets);
    *slice = (struct slice){0};
}
