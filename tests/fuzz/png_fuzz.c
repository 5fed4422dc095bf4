/* PNG files from strangers. Whatever the bytes: no crash, and a row that is either failed or whole.
 * Each file is tried as it is, and with its checksums put right. */
#include "preprocess/operators/chain.h"

#include <limits.h>

enum { SIGNATURE_BYTES = 8, WORD_BYTES = 4 };

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static const char OPERATORS[] = "[{op: decode_png, pixels_max: 100000, channels: grey}, "
                                "{op: resize, size: [9, 7]}]";

static void decode(struct weir_bytes file)
{
    struct weir_error err;
    WEIR_AUTO(weir_yaml) document = NULL;
    WEIR_AUTO(chain) chain = NULL;
    weir_require(weir_yaml_parse("fuzz", weir_bytes_of(OPERATORS), &document, &err) == WEIR_OK);
    weir_require(preprocess_chain_new(weir_yaml_root(document), NULL, &chain, &err) == WEIR_OK);
    struct column *payload = preprocess_chain_begin(chain);
    weir_buf_append(&payload->values, file.at, file.size);
    preprocess_column_end_row(payload);
    const uint8_t *failed = preprocess_chain_run(chain, &(struct operator_batch){.rows = 1});
    weir_require(preprocess_chain_output(chain, 0)->values.size ==
                 preprocess_chain_row_bytes(chain));
    weir_require(failed[0] == preprocess_chain_cost(chain, 0).failed);
}

/* Computes the checksum of PNG (RFC 2083, 3.4), bit by bit. */
static uint32_t checksum(const uint8_t *at, size_t size)
{
    uint32_t sum = UINT32_MAX;
    for (size_t i = 0; i < size * CHAR_BIT; i++) {
        uint32_t bit = (sum ^ (uint32_t)at[i / CHAR_BIT] >> i % CHAR_BIT) & 1;
        sum = sum >> 1 ^ (bit != 0 ? 0xedb88320u : 0);
    }
    return ~sum;
}

static uint32_t big_endian(const uint8_t *at)
{
    return (uint32_t)at[0] << 24 | (uint32_t)at[1] << 16 | (uint32_t)at[2] << 8 | at[3];
}

/* Makes the checksum of every chunk right, for otherwise nearly all changes end there. */
static void mend(struct weir_buf *file)
{
    for (size_t at = SIGNATURE_BYTES; at + 3 * WORD_BYTES <= file->size;) {
        size_t body = big_endian(file->at + at), left = file->size - at - 3 * WORD_BYTES;
        if (body > left)
            return;
        uint32_t sum = checksum(file->at + at + WORD_BYTES, WORD_BYTES + body);
        at += 2 * WORD_BYTES + body;
        for (size_t i = 0; i < WORD_BYTES; i++)
            file->at[at++] = (uint8_t)(sum >> (24 - CHAR_BIT * i));
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    WEIR_AUTO_BUF mended = {0};
    decode(weir_bytes(data, size));
    weir_buf_append(&mended, data, size);
    mend(&mended);
    decode(weir_buf_view(&mended));
    return 0;
}
