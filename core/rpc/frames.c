/* The list of raw frames that travel beside a message. */
#include "core/rpc/frames.h"

#include "core/base/error.h"

#include <stdlib.h>
#include <string.h>

static void free_bytes(void *bytes, void *hint)
{
    (void)hint;
    free(bytes);
}

void weir_frames_give(struct weir_frames *frames, void *bytes, size_t size)
{
    weir_require(frames->count < WEIR_WIRE_FRAMES_MAX);
    int rc = zmq_msg_init_data(&frames->frame[frames->count], bytes, size, free_bytes, NULL);
    weir_require(rc == 0);
    frames->count++;
}

void weir_frames_replace(struct weir_frames *frames, size_t index, void *bytes, size_t size)
{
    weir_require(index < frames->count);
    zmq_msg_close(&frames->frame[index]);
    int rc = zmq_msg_init_data(&frames->frame[index], bytes, size, free_bytes, NULL);
    weir_require(rc == 0);
}

void weir_frames_copy(struct weir_frames *frames, const void *bytes, size_t size)
{
    weir_require(frames->count < WEIR_WIRE_FRAMES_MAX);
    zmq_msg_t *frame = &frames->frame[frames->count];
    int rc = zmq_msg_init_size(frame, size);
    weir_require(rc == 0);
    if (size > 0)
        memcpy(zmq_msg_data(frame), bytes, size);
    frames->count++;
}

void weir_frames_view(struct weir_frames *frames, const void *bytes, size_t size)
{
    weir_require(frames->count < WEIR_WIRE_FRAMES_MAX);
    union {
        const void *in;
        void *out;
    } pointer = {.in = bytes}; /* without a function that frees them nothing is done to them */
    int rc = zmq_msg_init_data(&frames->frame[frames->count], pointer.out, size, NULL, NULL);
    weir_require(rc == 0);
    frames->count++;
}

/* zmq_msg_data() takes a pointer to non-const, and changes nothing. */
static struct weir_bytes view(const zmq_msg_t *frame)
{
    union {
        const zmq_msg_t *in;
        zmq_msg_t *out;
    } pointer = {.in = frame};
    return weir_bytes(zmq_msg_data(pointer.out), zmq_msg_size(frame));
}

struct weir_bytes weir_frames_at(const struct weir_frames *frames, size_t index)
{
    return index < frames->count ? view(&frames->frame[index]) : weir_bytes(NULL, 0);
}

size_t weir_frames_bytes(const struct weir_frames *frames)
{
    size_t sum = 0;
    for (size_t i = 0; i < frames->count; i++)
        sum += zmq_msg_size(&frames->frame[i]);
    return sum;
}

void weir_frames_clear(struct weir_frames *frames)
{
    for (size_t i = 0; i < frames->count; i++)
        zmq_msg_close(&frames->frame[i]);
    frames->count = 0;
}

void weir_frames_move(struct weir_frames *to, struct weir_frames *from)
{
    weir_require(to->count == 0);
    for (size_t i = 0; i < from->count; i++) {
        zmq_msg_init(&to->frame[i]);
        zmq_msg_move(&to->frame[i], &from->frame[i]);
        zmq_msg_close(&from->frame[i]);
    }
    to->count = from->count;
    from->count = 0;
}

void weir_frames_share(struct weir_frames *to, struct weir_frames *from)
{
    weir_require(to->count + from->count <= WEIR_WIRE_FRAMES_MAX);
    for (size_t i = 0; i < from->count; i++) {
        zmq_msg_t *frame = &to->frame[to->count++];
        zmq_msg_init(frame);
        zmq_msg_copy(frame, &from->frame[i]);
    }
}
