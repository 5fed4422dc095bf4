/* Compressed frames: how (1 byte), the size that is announced (3 bytes), the frame. */
#include "core/base/error.h"
#include "core/base/memory.h"
#include "core/wire/compression.h"

#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum { HEAD = 4, ANNOUNCED_MAX = 1 << 20 };

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (size < HEAD)
        return 0;
    size_t announced = data[1] | (size_t)data[2] << 8 | (size_t)data[3] << 16;
    struct weir_bytes frame = weir_bytes(data + HEAD, size - HEAD);
    if (announced > ANNOUNCED_MAX || !weir_may_expand(data[0], frame, announced))
        return 0;
    WEIR_AUTO_FREE uint8_t *out = weir_calloc(announced, 1);
    if (!weir_expand(data[0], frame, out, announced))
        return 0;
    /* Whatever can be read can be written again, or does not pay. */
    size_t small = 0;
    WEIR_AUTO_FREE void *packed =
        weir_compress((enum weir_compression)data[0], weir_bytes(out, announced), &small);
    weir_require(packed == NULL || weir_expand(data[0], weir_bytes(packed, small), out, announced));
    return 0;
}
