/* The first frame of a message, as any peer may send it. */
#include "core/rpc/envelope.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct weir_error err;
    struct weir_envelope envelope, again;
    uint8_t packed[WEIR_ENVELOPE_BYTES];
    if (weir_envelope_unpack(weir_bytes(data, size), &envelope, &err) != WEIR_OK)
        return 0;
    weir_envelope_pack(&envelope, packed);
    weir_require(weir_envelope_unpack(weir_bytes(packed, sizeof(packed)), &again, &err) == WEIR_OK);
    weir_require(again.type == envelope.type && again.deadline_ms == envelope.deadline_ms);
    weir_require(again.request == envelope.request && again.trace == envelope.trace);
    return 0;
}
