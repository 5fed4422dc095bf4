/* A finished batch: what is sent of it. */
#ifndef WEIR_PREPROCESS_WORKER_BATCH_H
#define WEIR_PREPROCESS_WORKER_BATCH_H

#include "core/rpc/frames.h"
#include "core/wire/compression.h"
#include "preprocess/operators/column.h"

/* The frames of `batch` and what its message says of them. */
struct worker_batch {
    struct weir_frames frames;
    uint64_t bytes; /* of all frames */
    size_t samples;
    size_t holes;
    size_t failed;   /* of the holes */
    int64_t made_ns; /* when it was finished */
    uint32_t *hole_states;
    uint32_t label_kind;
    uint32_t label_width;
    size_t tensors;
    struct column_about tensor[COLUMNS_MAX];
    enum weir_compression compression;       /* of those frames that are; NONE: none is */
    uint64_t expanded[WEIR_WIRE_FRAMES_MAX]; /* bytes they were compressed from; 0: it is not */
};

/* Gives it bytes from malloc, as its next frame. */
void worker_batch_give(struct worker_batch *batch, void *bytes, size_t size);
/* Takes the buffers out of a column: nothing is copied between operator and socket. */
void worker_batch_give_tensor(struct worker_batch *batch, struct column *column);
void worker_batch_free(struct worker_batch *batch);
/* Compresses the values of its tensors, where that pays. What sizes are taken from stays as it is. */
void worker_batch_compress(struct worker_batch *batch, enum weir_compression how);

#endif
