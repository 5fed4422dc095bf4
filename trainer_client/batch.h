/* A `batch` message and its frames, checked and laid out in one aligned block: what the loop is
 * shown, and what the delivery machine needs to know of it. */
#ifndef WEIR_TRAINER_CLIENT_BATCH_H
#define WEIR_TRAINER_CLIENT_BATCH_H

#include "core/rpc/frames.h"
#include "trainer_client/delivery.h"
#include "trainer_client/groups.h"

#include <weir/client.h>

struct batch {
    struct weir_batch shown; /* first, so that what the loop returns is this */
    struct delivery_batch lent;
    struct weir_client *client;        /* its client, which sets this */
    struct groups groups;              /* what hidden tensors tell of its samples */
    char digest[WEIR_DIGEST_TEXT_MAX]; /* where one is kept */
    int64_t steps_ns;                  /* CPU time of what a worker has left to this end */
    int slot;        /* of the memory lent, where its tensors are; -1: they are its own, or … */
    uint8_t *mapped; /* … in memory that its worker has made for several; NULL: they are not */
    size_t mapped_bytes;
};

/* True when that frame of the message holds offsets of a ragged tensor, which are used as indices. */
bool trainer_batch_frame_is_offsets(const struct msg_batch *message, size_t frame);

/* Copies everything out of `message` and `frames`, and finishes tensors of which steps are left; with a loan the values
 * of tensors stay in the frames, which are views of it, but for offsets, which must be copies: nothing that others may
 * write to is used as a size or an index. INVALID, naming the tensor, when sizes, shapes, offsets or steps do not fit
 * each other, or a compressed tensor is broken. `*ret_batch` is one allocation: free(). */
enum weir_status trainer_batch_lay_out(const struct msg_batch *message,
                                       const struct weir_frames *frames, struct batch **ret_batch,
                                       struct weir_error *err) WEIR_MUST_USE;

/* The batch around what the machine or the loop holds. */
static inline struct batch *batch_of_lent(struct delivery_batch *lent)
{
    return lent->payload;
}

#endif
