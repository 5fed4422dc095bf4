/* Fixed records from strangers; the second byte of the input chooses their size. */
#include "tests/fuzz/format_fuzz.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const struct format_fields FIELDS = {
        .label = {.from = FORMAT_AT, .offset = 0, .type = FORMAT_U8}};
    const struct {
        uint64_t record_bytes;
    } options = {size > 1 ? (uint64_t)data[1] + 1 : 1};

    format_fuzz_run(format_find("binary"), &options, &FIELDS, weir_bytes(data, size));
    return 0;
}
