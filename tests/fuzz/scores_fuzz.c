/* Packed scores. An odd first byte asks for right checksums, so that what lies after them is reached. */
#include "selector/scores/packed.h"
#include "tests/fuzz/mapped_file.h"

enum { DIGESTED_FROM = 48 };

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check(const struct weir_outputs *outputs)
{
    uint64_t sum = 0;
    for (size_t i = 0; i < outputs->count; i++) {
        weir_require(i == 0 || outputs->ids[i] > outputs->ids[i - 1]);
        sum += (uint64_t)outputs->labels[i];
        for (size_t k = 0; k < outputs->width; k++)
            sum += outputs->values[i * outputs->width + k] > 0;
    }
    weir_require(outputs->count > 0 || sum == 0); /* everything was read */
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct mapped_file file;
    struct scores_packed packed;
    struct weir_error err;
    WEIR_AUTO_BUF bytes = {0};
    if (size == 0)
        return 0;
    weir_buf_append(&bytes, data + 1, size - 1);
    if (data[0] % 2 == 1 && bytes.size >= MAPPED_HEADER_BYTES)
        mapped_file_repair(
            &bytes, "WEIRSCR1",
            weir_digest_of(weir_bytes(bytes.at + DIGESTED_FROM, bytes.size - DIGESTED_FROM)));
    mapped_file_make(&file, weir_buf_view(&bytes));
    if (selector_scores_packed_open(file.path, &packed, &err) == WEIR_OK) {
        check(&packed.outputs);
        selector_scores_packed_close(&packed);
    }
    mapped_file_remove(&file);
    return 0;
}
