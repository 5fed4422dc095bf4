/* Models as differences: the size of the base (2 bytes), the base, the delta. An odd first byte asks for right
 * checksums, so that what lies after them is reached. */
#include "core/base/hash.h"
#include "orchestrator/models/delta.h"

#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum {
    HEAD = 3,
    MODEL_BYTES_AT = 8,
    BASE_BYTES_AT = 16,
    BASE_DIGEST_AT = 40,
    SECTIONS_AT = 56,
    HEADER_BYTES = 64,
    SECTION_BYTES = 24,
    SECTIONS_MAX = 64,
    PIECE_BYTES = 1 << 20,
    MODEL_BYTES_MAX = 4 << 20,
};

/* Everything but the digest of the model, which is what has to be refused. */
static void repair(struct weir_buf *delta, struct weir_bytes base)
{
    struct weir_digest digest = weir_digest_of(base);
    memcpy(delta->at, "WEIRDLT1", 8);
    weir_put_u64(delta->at + BASE_BYTES_AT, base.size);
    memcpy(delta->at + BASE_DIGEST_AT, digest.bytes, sizeof(digest.bytes));
    size_t sections = delta->at[SECTIONS_AT] % SECTIONS_MAX;
    size_t head = HEADER_BYTES + sections * SECTION_BYTES;
    if (delta->size >= head + 8)
        weir_put_u64(delta->at + head, weir_hash64(weir_bytes(delta->at, head), 0));
    uint64_t bytes = weir_get_u64(delta->at + MODEL_BYTES_AT);
    size_t pieces = bytes < MODEL_BYTES_MAX ? (size_t)(bytes / PIECE_BYTES) + sections : 0;
    size_t table = pieces * 16;
    if (delta->size >= head + 16 + table)
        weir_put_u64(delta->at + delta->size - 8,
                     weir_hash64(weir_bytes(delta->at + delta->size - 8 - table, table), 0));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct weir_error err;
    WEIR_AUTO_BUF delta = {0}, out = {0};
    if (size < HEAD)
        return 0;
    size_t base_size = data[1] | (size_t)data[2] << 8;
    if (base_size > size - HEAD)
        return 0;
    struct weir_bytes base = weir_bytes(data + HEAD, base_size);
    weir_buf_append(&delta, data + HEAD + base_size, size - HEAD - base_size);
    if (data[0] % 2 == 1 && delta.size >= HEADER_BYTES)
        repair(&delta, base);
    if (orchestrator_model_delta_apply(weir_buf_view(&delta), base, MODEL_BYTES_MAX, &out, &err) ==
        WEIR_OK)
        weir_require(out.size <= MODEL_BYTES_MAX);
    return 0;
}
