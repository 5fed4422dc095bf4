/* A finished batch. */
#include "preprocess/worker/batch.h"

#include "core/wire/delivery.h"

#include <stdlib.h>

void worker_batch_give(struct worker_batch *batch, void *bytes, size_t size)
{
    batch->bytes += size;
    weir_frames_give(&batch->frames, bytes, size);
}

void worker_batch_give_tensor(struct worker_batch *batch, struct column *column)
{
    batch->tensor[batch->tensors++] = column->about;
    if (column->about.kind == COLUMN_RAGGED) {
        worker_batch_give(batch, column->offsets.at, column->offsets.size);
        column->offsets = (struct weir_buf){0};
    }
    worker_batch_give(batch, column->values.at, column->values.size);
    column->values = (struct weir_buf){0};
}

void worker_batch_free(struct worker_batch *batch)
{
    if (batch == NULL)
        return;
    weir_frames_clear(&batch->frames);
    free(batch->hole_states);
    free(batch);
}

/* ---- compressing ---- */

static void compress_frame(struct worker_batch *batch, size_t frame, enum weir_compression how)
{
    struct weir_bytes plain = weir_frames_at(&batch->frames, frame);
    size_t size = 0;
    void *bytes = weir_compress(how, plain, &size);
    if (bytes == NULL)
        return;
    batch->compression = how;
    batch->expanded[frame] = plain.size;
    weir_frames_replace(&batch->frames, frame, bytes, size);
}

void worker_batch_compress(struct worker_batch *batch, enum weir_compression how)
{
    size_t frame = WEIR_BATCH_TENSORS;
    if (how == WEIR_COMPRESSION_NONE)
        return;
    for (size_t i = 0; i < batch->tensors; i++) {
        if (batch->tensor[i].kind == COLUMN_RAGGED)
            frame++; /* its offsets */
        compress_frame(batch, frame++, how);
    }
}
