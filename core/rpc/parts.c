/* Multipart messages in and out. Everything that arrives is bounded before it is looked at: size by
 * ZMQ_MAXMSGSIZE (each frame) and here (all together), count and identity here, the header's content by core/wire. */
#include "core/rpc/parts.h"

#include "core/rpc/inflow.h"

#include <errno.h>
#include <string.h>

enum { AT_IDENTITY, AT_ENVELOPE, AT_HEADER, AT_FRAMES, ALIGNMENT = 8 };

void weir_parts_init(struct weir_parts *parts, size_t bytes_max)
{
    *parts = (struct weir_parts){.bytes_max = bytes_max};
    zmq_msg_init(&parts->header);
}

void weir_parts_fini(struct weir_parts *parts)
{
    zmq_msg_close(&parts->header);
    weir_frames_clear(&parts->frames);
}

static void begin(struct weir_parts *parts)
{
    weir_parts_fini(parts);
    zmq_msg_init(&parts->header);
    parts->route = (struct weir_route){0};
    parts->envelope = (struct weir_envelope){0};
    parts->frame_count = parts->bytes = 0;
    parts->connection = -1;
    parts->public[0] = '\0';
    parts->err.status = WEIR_OK;
}

static bool is_good(const struct weir_parts *parts)
{
    return parts->err.status == WEIR_OK;
}

static void keep_identity(struct weir_parts *parts, struct weir_bytes identity)
{
    if (identity.size > WEIR_ROUTE_MAX) {
        weir_fail(&parts->err, WEIR_INVALID, "route of %zu bytes: at most %d", identity.size,
                  WEIR_ROUTE_MAX);
        return;
    }
    memcpy(parts->route.identity, identity.at, identity.size);
    parts->route.identity_size = (uint8_t)identity.size;
}

static void keep_envelope(struct weir_parts *parts, struct weir_bytes frame)
{
    if (weir_envelope_unpack(frame, &parts->envelope, &parts->err) != WEIR_OK) {
        parts->route.request = weir_envelope_request(frame);
        return;
    }
    parts->route.request = parts->envelope.request;
    parts->route.trace = parts->envelope.trace;
}

/* ZeroMQ hands out short frames in the middle of its read buffer; tensors want whole words. */
static void keep_frame(struct weir_frames *frames, zmq_msg_t *frame)
{
    void *data = zmq_msg_data(frame);
    if ((uintptr_t)data % ALIGNMENT != 0) {
        weir_frames_copy(frames, data, zmq_msg_size(frame));
        return;
    }
    zmq_msg_t *slot = &frames->frame[frames->count++];
    zmq_msg_init(slot);
    zmq_msg_move(slot, frame);
}

/* Drops the frames that have come, and each further frame of the message as it comes. */
static void refuse(struct weir_parts *parts, size_t most, const char *of_what)
{
    weir_fail(&parts->err, WEIR_LIMIT, "more than %zu %s", most, of_what);
    zmq_msg_close(&parts->header);
    zmq_msg_init(&parts->header);
    weir_frames_clear(&parts->frames);
}

static void keep(struct weir_parts *parts, size_t index, zmq_msg_t *frame)
{
    struct weir_bytes bytes = weir_bytes(zmq_msg_data(frame), zmq_msg_size(frame));
    parts->bytes += bytes.size;
    if (!is_good(parts))
        return;
    if (parts->bytes > parts->bytes_max)
        refuse(parts, parts->bytes_max, "bytes");
    else if (index == AT_IDENTITY)
        keep_identity(parts, bytes);
    else if (index == AT_ENVELOPE)
        keep_envelope(parts, bytes);
    else if (index == AT_HEADER)
        zmq_msg_move(&parts->header, frame);
    else if (parts->frames.count < WEIR_WIRE_FRAMES_MAX)
        keep_frame(&parts->frames, frame);
    else
        refuse(parts, WEIR_WIRE_FRAMES_MAX, "payload frames");
}

/* A signal may interrupt even what does not wait, and must not tear a message apart. */
static bool receive_frame(void *socket, zmq_msg_t *frame)
{
    int rc;
    do
        rc = zmq_msg_recv(frame, socket, ZMQ_DONTWAIT);
    while (rc < 0 && errno == EINTR);
    return rc >= 0;
}

/* Both are properties of each frame. */
static void keep_sender(struct weir_parts *parts, zmq_msg_t *frame)
{
    parts->connection = zmq_msg_get(frame, ZMQ_SRCFD);
    const char *public = parts->is_keyed ? zmq_msg_gets(frame, "User-Id") : NULL;
    if (public != NULL && strlen(public) < sizeof(parts->public))
        memcpy(parts->public, public, strlen(public) + 1);
}

enum weir_received weir_parts_receive(void *socket, bool routed, struct weir_parts *parts)
{
    begin(parts);
    size_t first = routed ? AT_IDENTITY : AT_ENVELOPE;
    size_t index = first;
    for (bool more = true; more; index++) {
        zmq_msg_t frame;
        zmq_msg_init(&frame);
        if (!receive_frame(socket, &frame)) {
            /* Frames of one message arrive together: this is before the first. */
            zmq_msg_close(&frame);
            if (routed)
                weir_inflow_drained();
            return WEIR_RECEIVED_NOTHING;
        }
        more = zmq_msg_more(&frame) != 0;
        if (routed && !more)
            keep_sender(parts, &frame);
        keep(parts, index, &frame);
        zmq_msg_close(&frame);
    }
    parts->frame_count = index - first;
    weir_inflow_taken(parts->connection, parts->frame_count, parts->bytes);
    if (is_good(parts) && index <= AT_HEADER)
        weir_fail(&parts->err, WEIR_INVALID, "the message has no header frame");
    return is_good(parts) ? WEIR_RECEIVED_MESSAGE : WEIR_RECEIVED_MALFORMED;
}

struct weir_bytes weir_parts_header(struct weir_parts *parts)
{
    return weir_bytes(zmq_msg_data(&parts->header), zmq_msg_size(&parts->header));
}

/* ZeroMQ decides at the first frame whether the message can leave; it then takes the others too. */
static bool send_bytes(void *socket, const void *at, size_t size, bool more)
{
    int flags = ZMQ_DONTWAIT | (more ? ZMQ_SNDMORE : 0);
    int rc;
    do
        rc = zmq_send(socket, at, size, flags);
    while (rc < 0 && errno == EINTR);
    return rc >= 0;
}

static bool send_frame(void *socket, zmq_msg_t *frame, bool more)
{
    int flags = ZMQ_DONTWAIT | (more ? ZMQ_SNDMORE : 0);
    int rc;
    do
        rc = zmq_msg_send(frame, socket, flags);
    while (rc < 0 && errno == EINTR);
    return rc >= 0;
}

static void send_frames(void *socket, struct weir_frames *frames)
{
    for (size_t i = 0; i < frames->count; i++)
        (void)send_frame(socket, &frames->frame[i], i + 1 < frames->count);
    weir_frames_clear(frames);
}

bool weir_parts_send(void *socket, const struct weir_parcel *parcel)
{
    const struct weir_route *route = parcel->route;
    bool has_frames = parcel->frames != NULL && parcel->frames->count > 0;
    size_t bytes = parcel->header.size + (has_frames ? weir_frames_bytes(parcel->frames) : 0);
    uint8_t first[WEIR_ENVELOPE_BYTES];
    zmq_msg_t header;
    weir_envelope_pack(parcel->envelope, first);
    if (!weir_outflow_frame(parcel->outflow, route, parcel->header, bytes, &header))
        return false;
    bool is_sent =
        (route == NULL || send_bytes(socket, route->identity, route->identity_size, true)) &&
        send_bytes(socket, first, sizeof(first), true) && send_frame(socket, &header, has_frames);
    if (!is_sent)
        zmq_msg_close(&header);
    else if (has_frames)
        send_frames(socket, parcel->frames);
    return is_sent;
}
