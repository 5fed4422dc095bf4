/* The guard: whatever it lets through, msgpack-c reads to the last byte. */
#include "core/wire/guard.h"

#include <msgpack.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct weir_error err;
    if (weir_guard(weir_bytes(data, size), &err) != WEIR_OK)
        return 0;
    size_t used = 0;
    msgpack_unpacked unpacked;
    msgpack_unpacked_init(&unpacked);
    weir_require(msgpack_unpack_next(&unpacked, (const char *)data, size, &used) ==
                 MSGPACK_UNPACK_SUCCESS);
    weir_require(used == size);
    msgpack_unpacked_destroy(&unpacked);
    return 0;
}
