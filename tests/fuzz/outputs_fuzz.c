/* Output files of a run. An odd first byte asks for right checksums, so that what lies after them
 * is reached. */
#include "core/wire/outputs.h"
#include "tests/fuzz/mapped_file.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check(const struct weir_outputs *outputs)
{
    uint64_t sum = 0;
    for (size_t i = 0; i < outputs->count; i++) {
        sum += outputs->ids[i] + (uint64_t)outputs->labels[i];
        for (size_t k = 0; k < outputs->width; k++)
            sum += outputs->values[i * outputs->width + k] > 0;
    }
    weir_require(outputs->count > 0 || sum == 0); /* everything was read */
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct mapped_file file;
    struct weir_outputs outputs;
    struct weir_error err;
    WEIR_AUTO_BUF bytes = {0};
    if (size == 0)
        return 0;
    weir_buf_append(&bytes, data + 1, size - 1);
    if (data[0] % 2 == 1 && bytes.size >= MAPPED_HEADER_BYTES)
        mapped_file_repair(&bytes, "WEIROUT1",
                           weir_digest_of(weir_bytes(bytes.at + MAPPED_HEADER_BYTES,
                                                     bytes.size - MAPPED_HEADER_BYTES)));
    mapped_file_make(&file, weir_buf_view(&bytes));
    if (weir_outputs_open(file.path, &outputs, &err) == WEIR_OK) {
        check(&outputs);
        weir_outputs_close(&outputs);
    }
    mapped_file_remove(&file);
    return 0;
}
