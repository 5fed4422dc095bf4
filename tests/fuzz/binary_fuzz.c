/* Fixed records from strangers; the second byte of the input chooses their size. */
#include "tests/fuzz/format_fuzz.h"

#include <stdio.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const struct format_fields FIELDS = {
        .time = {.from = FORMAT_AT, .offset = 0, .type = FORMAT_U8},
        .label = {.from = FORMAT_AT, .offset = 0, .type = FORMAT_U8, .count = 1}};
    static const void *options[256];
    size_t bytes = size > 1 ? (size_t)data[1] + 1 : 1;

    if (options[bytes - 1] == NULL) {
        char yaml[96];

        snprintf(yaml, sizeof(yaml), "{record_bytes: %zu, header_bytes: %zu, byte_order: big}",
                 bytes, bytes / 16);
        options[bytes - 1] = format_fuzz_options(format_find("binary"), yaml);
    }
    format_fuzz_run(format_find("binary"), options[bytes - 1], &FIELDS, weir_bytes(data, size));
    return 0;
}
