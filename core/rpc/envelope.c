/* Packing and checking the first frame of every message. */
#include "core/rpc/envelope.h"

#include <string.h>

static const uint8_t MAGIC[4] = {'W', 'E', 'I', 'R'};

enum {
    AT_VERSION = 4,
    AT_TYPE = 6,
    AT_RESERVED = 8,
    AT_DEADLINE = 12,
    AT_REQUEST = 16,
    AT_TRACE = 24
};

void weir_envelope_pack(const struct weir_envelope *envelope, uint8_t out[WEIR_ENVELOPE_BYTES])
{
    memcpy(out, MAGIC, sizeof(MAGIC));
    weir_put_u16(out + AT_VERSION, WEIR_WIRE_VERSION);
    weir_put_u16(out + AT_TYPE, envelope->type);
    weir_put_u32(out + AT_RESERVED, 0);
    weir_put_u32(out + AT_DEADLINE, envelope->deadline_ms);
    weir_put_u64(out + AT_REQUEST, envelope->request);
    weir_put_u64(out + AT_TRACE, envelope->trace);
}

static bool is_envelope(struct weir_bytes frame)
{
    return frame.size == WEIR_ENVELOPE_BYTES && memcmp(frame.at, MAGIC, sizeof(MAGIC)) == 0;
}

enum weir_status weir_envelope_unpack(struct weir_bytes frame, struct weir_envelope *ret_envelope,
                                      struct weir_error *err)
{
    if (!is_envelope(frame))
        return weir_fail(err, WEIR_INVALID,
                         "first frame: expected a Weir envelope of %d bytes, found %zu bytes",
                         WEIR_ENVELOPE_BYTES, frame.size);
    unsigned version = weir_get_u16(frame.at + AT_VERSION);
    if (version != WEIR_WIRE_VERSION)
        return weir_fail(
            err, WEIR_UNSUPPORTED,
            "wire version %u: this program speaks version %d; run the same Weir everywhere",
            version, WEIR_WIRE_VERSION);
    *ret_envelope = (struct weir_envelope){
        .type = weir_get_u16(frame.at + AT_TYPE),
        .deadline_ms = weir_get_u32(frame.at + AT_DEADLINE),
        .request = weir_get_u64(frame.at + AT_REQUEST),
        .trace = weir_get_u64(frame.at + AT_TRACE),
    };
    return WEIR_OK;
}

uint64_t weir_envelope_request(struct weir_bytes frame)
{
    return is_envelope(frame) ? weir_get_u64(frame.at + AT_REQUEST) : 0;
}
