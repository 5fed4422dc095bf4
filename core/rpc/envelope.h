/* The fixed first frame of every message.
 *
 *     0  u32  magic "WEIR"     12  u32  ms that the asker still waits, 0: it does not say
 *     4  u16  wire version     16  u64  request number, chosen by the asker, unique in its session
 *     6  u16  message type     24  u64  trace: follows a request through all processes
 *     8  u32  reserved         32  end
 */
#ifndef WEIR_RPC_ENVELOPE_H
#define WEIR_RPC_ENVELOPE_H

#include "core/base/bytes.h"
#include "core/base/error.h"

enum { WEIR_ENVELOPE_BYTES = 32, WEIR_WIRE_VERSION = 1 };

struct weir_envelope {
    uint16_t type;
    uint32_t deadline_ms;
    uint64_t request;
    uint64_t trace;
};

void weir_envelope_pack(const struct weir_envelope *envelope, uint8_t out[WEIR_ENVELOPE_BYTES]);
/* INVALID for anything that is no envelope, UNSUPPORTED for another wire version. */
enum weir_status weir_envelope_unpack(struct weir_bytes frame, struct weir_envelope *ret_envelope,
                                      struct weir_error *err) WEIR_MUST_USE;
/* The request number of an envelope of any wire version, so that it can be refused; 0: unreadable.
 */
uint64_t weir_envelope_request(struct weir_bytes frame);

#endif
