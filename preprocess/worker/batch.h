/* A finished batch: what is sent of it, and memory of its consumer for that. */
#ifndef WEIR_PREPROCESS_WORKER_BATCH_H
#define WEIR_PREPROCESS_WORKER_BATCH_H

#include "core/rpc/frames.h"
#include "core/rpc/segment.h"
#include "core/wire/compression.h"
#include "preprocess/operators/column.h"

enum { BATCH_LENT_ALIGNMENT = 64 /* of each frame in lent memory */ };

/* A claimed loan for one batch, and what it was claimed with. Zeroed is none. */
struct batch_loan {
    struct weir_loan memory;
    uint8_t sent[WEIR_LOAN_BYTES];
    int64_t claimed_ms;
};

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
    struct batch_loan loan;                  /* given back when the batch is freed */
    uint64_t in_loan;                        /* bit i: frame i lies there */
};

/* Gives it bytes from malloc, as its next frame. */
void worker_batch_give(struct worker_batch *batch, void *bytes, size_t size);
/* Takes the buffers out of a column: nothing is copied between operator and socket. Values that were lent memory are in
 * the loan that the batch has. */
void worker_batch_give_tensor(struct worker_batch *batch, struct column *column);
void worker_batch_free(struct worker_batch *batch);
/* Where the frame behind one of `size` bytes begins in lent memory. */
static inline size_t worker_batch_step(size_t size)
{
    return (size + BATCH_LENT_ALIGNMENT - 1) / BATCH_LENT_ALIGNMENT * BATCH_LENT_ALIGNMENT;
}
/* Writes what is not there yet to its loan, one frame behind the other, and ends that. `written` (as many as
 * frames): the size of each. False when there is no room: then the loan is given back. */
bool worker_batch_write(struct worker_batch *batch, uint64_t *written);
/* Copies what lies in its loan, so that it outlives that, and gives the loan back if it is not written. */
void worker_batch_leave_loan(struct worker_batch *batch);
/* Compresses the values of its tensors, where that pays. What sizes are taken from stays as it is. */
void worker_batch_compress(struct worker_batch *batch, enum weir_compression how);

#endif
