/* Received batches: a `batch` header and frames, each after its size (u16), header first. */
#include "core/wire/wire.h"
#include "trainer_client/batch.h"

#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* The next piece of the input; the last may be short. */
static struct weir_bytes piece(const uint8_t **data, size_t *left)
{
    if (*left < 2)
        return weir_bytes(*data, 0);
    size_t size = weir_get_u16(*data);
    *data += 2;
    *left -= 2;
    size = size < *left ? size : *left;
    struct weir_bytes bytes = weir_bytes(*data, size);
    *data += size;
    *left -= size;
    return bytes;
}

/* Reads everything that a loop may read. */
static uint64_t read_all(const struct weir_batch *batch)
{
    uint64_t sum = 0;
    for (size_t s = 0; s < batch->samples; s++)
        sum += batch->ids[s] + (uint64_t)batch->labels[s] + (batch->weights[s] > 0.0f);
    for (size_t t = 0; t < batch->tensor_count; t++) {
        const struct weir_tensor *tensor = &batch->tensors[t];
        for (size_t i = 0; i < tensor->bytes; i++)
            sum += ((const uint8_t *)tensor->data)[i];
        for (size_t s = 0; tensor->offsets != NULL && s <= batch->samples; s++)
            sum += tensor->offsets[s];
    }
    return sum;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    WEIR_AUTO(weir_arena) arena = weir_arena_new();
    struct weir_frames frames = {0};
    struct msg_batch message;
    struct batch *batch = NULL;
    struct weir_error err;
    size_t left = size;
    if (weir_message_unpack(MSG_batch, piece(&data, &left), arena, &message, &err) != WEIR_OK)
        return 0;
    while (left >= 2 && frames.count < WEIR_WIRE_FRAMES_MAX) {
        struct weir_bytes frame = piece(&data, &left);
        weir_frames_copy(&frames, frame.at, frame.size);
    }
    if (trainer_batch_lay_out(&message, &frames, &batch, &err) == WEIR_OK) {
        uint64_t sum = read_all(&batch->shown);
        weir_require(batch->shown.tensor_count > 0 || batch->shown.samples > 0 || sum == 0);
        free(batch);
    }
    weir_frames_clear(&frames);
    return 0;
}
