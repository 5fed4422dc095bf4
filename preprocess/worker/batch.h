/* A finished batch: its frames, and memory that its consumer lends for them. */
#ifndef WEIR_PREPROCESS_WORKER_BATCH_H
#define WEIR_PREPROCESS_WORKER_BATCH_H

#include "core/rpc/frames.h"
#include "core/rpc/published.h"
#include "core/rpc/segment.h"
#include "core/wire/compression.h"
#include "preprocess/operators/column.h"
#include "preprocess/plan/failures.h"

enum { BATCH_LENT_ALIGNMENT = 64 /* of each frame in lent memory */ };

/* A claimed loan for one batch, and what it was claimed with. Zeroed is none. */
struct batch_loan {
    struct weir_loan memory;
    uint8_t sent[WEIR_LOAN_BYTES];
    int64_t claimed_ms;
};

/* The frames of `batch` and the fields of its message. */
struct worker_batch {
    struct weir_frames frames;
    uint64_t bytes; /* of all frames, finished */
    size_t samples;
    size_t holes;
    size_t failed;             /* of the holes; why: */
    char *reason;              /* of the first of them, with its place; NULL: none failed */
    struct failures *failures; /* the first of them */
    int64_t made_ns;           /* when it was finished */
    uint32_t *hole_states;
    uint32_t label_kind;
    uint32_t label_width;
    size_t tensors;
    struct column_about tensor[COLUMNS_MAX];
    enum weir_compression compression;       /* of those frames that are; NONE: none is */
    uint64_t expanded[WEIR_WIRE_FRAMES_MAX]; /* bytes they were compressed from; 0: it is not */
    struct weir_tensor_steps *left;          /* to its consumer; NULL: none */
    struct batch_loan loan;                  /* given back when the batch is freed */
    uint64_t in_loan;                        /* bit i: frame i lies there */
    struct weir_published *published;        /* where all frames lie; NULL: they do not */
};

/* Gives it bytes from malloc, as its next frame. */
void preprocess_batch_give(struct worker_batch *batch, void *bytes, size_t size);
/* Takes the buffers out of a column: nothing is copied between operator and socket. Values that were lent memory are in
 * the loan that the batch has. */
void preprocess_batch_give_tensor(struct worker_batch *batch, struct column *column);
/* Has it say why samples of it have failed, if any have, whoever it is for. */
void preprocess_batch_give_reasons(struct worker_batch *batch, const char *first,
                                   const struct failures *failures);
/* Leaves the last steps of making its tensors, all of which it has, to its consumer: `bytes` are those that it holds
 * then. */
void preprocess_batch_leave_steps(struct worker_batch *batch,
                                  const struct weir_tensor_steps *steps);
void preprocess_batch_free(struct worker_batch *batch);
/* Returns a batch of the same frames, which both own; nothing is copied. `batch` has no loan. */
struct worker_batch *preprocess_batch_share(struct worker_batch *batch) WEIR_MUST_USE;
/* Returns the ids of its samples, which are its first frame. */
static inline const uint64_t *worker_batch_ids(const struct worker_batch *batch)
{
    return (const uint64_t *)(const void *)weir_frames_at(&batch->frames, 0).at;
}
/* Returns the distance from a frame of `size` bytes to the next one in lent memory. */
static inline size_t worker_batch_step(size_t size)
{
    return (size + BATCH_LENT_ALIGNMENT - 1) / BATCH_LENT_ALIGNMENT * BATCH_LENT_ALIGNMENT;
}
/* Writes the frames that are not in its loan yet there, one after the other, and ends the loan. `written` (one per
 * frame): its size. False when there is no room: then the loan is given back. */
bool preprocess_batch_write(struct worker_batch *batch, uint64_t *written);
/* Copies the frames in its loan, so that they outlive it, and gives the loan back if it is not written. */
void preprocess_batch_leave_loan(struct worker_batch *batch);
/* Puts all frames of a batch whose loan is of `published`, which it takes over, there for good; `batch` says whether it
 * could, and has them in memory of its own else. */
void preprocess_batch_publish(struct worker_batch *batch, struct weir_published *published);
/* Copies the frames, so that they need no published memory. */
void preprocess_batch_unpublish(struct worker_batch *batch);
/* Bytes of the frames as they were made. */
uint64_t preprocess_batch_made_bytes(const struct worker_batch *batch);
/* Compresses the values of its tensors, where that pays. Offsets stay as they are. */
void preprocess_batch_compress(struct worker_batch *batch, enum weir_compression how);

#endif
