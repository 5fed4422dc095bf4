/* Raw frames beside a message: one per tensor, sent and received without a copy. */
#ifndef WEIR_RPC_FRAMES_H
#define WEIR_RPC_FRAMES_H

#include "core/base/bytes.h"
#include "core/wire/wire.h"

#include <zmq.h>

/* A list of owned ZeroMQ frames. Zero-initialised is empty. */
struct weir_frames {
    zmq_msg_t frame[WEIR_WIRE_FRAMES_MAX];
    size_t count;
};

/* Gives `bytes` (from malloc or weir_aligned_alloc) to the list; ZeroMQ frees it once it is sent. */
void weir_frames_give(struct weir_frames *frames, void *bytes, size_t size);
void weir_frames_copy(struct weir_frames *frames, const void *bytes, size_t size);
/* A frame of bytes that stay somebody else's, and outlive it. */
void weir_frames_view(struct weir_frames *frames, const void *bytes, size_t size);
/* Puts `bytes` (from malloc) in the place of what frame `index` holds. */
void weir_frames_replace(struct weir_frames *frames, size_t index, void *bytes, size_t size);
/* Empty beyond the end. What was received starts at a multiple of 8 bytes, at the least. */
struct weir_bytes weir_frames_at(const struct weir_frames *frames, size_t index);
size_t weir_frames_bytes(const struct weir_frames *frames); /* of all together */
void weir_frames_clear(struct weir_frames *frames);
/* Moves all frames of `from` to the (empty) `to`: how a receiver keeps payloads without copying
 * them. */
void weir_frames_move(struct weir_frames *to, struct weir_frames *from);
/* Appends the frames of `from` to `to` without copying what they hold: both own them. */
void weir_frames_share(struct weir_frames *to, struct weir_frames *from);

#endif
